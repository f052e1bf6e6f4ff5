-- Specification 001 § 8.2 for every event: what went as planned, and what did not. In three parts, so
-- that the events of one run are found by an index, and no prompt is opened to look for them.
CREATE OR REPLACE VIEW failproof.audit_log WITH (security_invoker = true) AS
SELECT
    logged.position,
    logged.event_type AS event,
    (logged.payload ->> 'timestamp')::timestamptz AS "timestamp",
    logged.test_run_id,
    (
        SELECT json_object_agg(field.key, field.value ORDER BY field.place)
        FROM (
            SELECT
                told.key,
                told.value,
                row_number() OVER () AS place
            FROM json_each(logged.payload) AS told
            WHERE told.key NOT IN ('timestamp', 'run_id', 'about', 'schema_version')
            UNION ALL
            SELECT
                'stream_id'::text AS key,
                to_json(logged.stream_id) AS value,
                NULL::bigint AS place
        ) AS field
    ) AS details
FROM (
    SELECT
        position,
        event_type,
        payload,
        stream_id,
        run_id AS test_run_id
    FROM failproof.readable_log
    WHERE run_id IS NOT NULL
    UNION ALL
    SELECT
        position,
        event_type,
        payload,
        stream_id,
        (payload ->> 'about')::uuid AS test_run_id
    FROM failproof.readable_log
    WHERE run_id IS NULL AND event_type <> 'PromptStored'
    UNION ALL
    SELECT
        position,
        event_type,
        payload,
        stream_id,
        NULL::uuid AS test_run_id
    FROM failproof.readable_log
    WHERE run_id IS NULL AND event_type = 'PromptStored'
) AS logged;

COMMENT ON VIEW failproof.audit_log IS
    'Every event in the form of specification 001 § 8.2. projections.audit_trail has those that an auditor asks about first.';
COMMENT ON COLUMN failproof.audit_log.position IS 'The event''s position in the log.';
COMMENT ON COLUMN failproof.audit_log.event IS 'What happened: the type of the event.';
COMMENT ON COLUMN failproof.audit_log."timestamp" IS
    'When, by the clock of the process that recorded it.';
COMMENT ON COLUMN failproof.audit_log.test_run_id IS
    'The run; null for a stored prompt, which belongs to every run that asks it.';
COMMENT ON COLUMN failproof.audit_log.details IS
    'The rest of the event, bodies and stack traces included, and its stream_id.';
