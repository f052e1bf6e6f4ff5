-- Specification 001 § 2.1: how each run was executed, of whatever dialect.
CREATE OR REPLACE VIEW promptguard.test_runs WITH (security_invoker = true) AS
SELECT
    r.run_id AS test_run_id,
    s.run_number,
    s.name,
    s.dialect,
    stands.status,
    s."timestamp"::timestamptz AS created_at,
    ended.ended_at::timestamptz AS ended_at,
    promptguard.closed(json_build_object(
        'test_run_id', r.run_id,
        'name', s.name,
        'timestamp', coalesce(s.configuration #>> '{test_run,timestamp}', s."timestamp"),
        'run_number', s.run_number,
        'dialect', s.dialect,
        'status', stands.status,
        'reason', stands.reason,
        'evaluations', json_build_object(
            'planned', s.planned_evaluations,
            'scored', counted.scored,
            'abandoned', counted.abandoned,
            'carried_over', counted.carried_over
        ),
        'branched_from', s.branched_from,
        'configuration', s.configuration,
        'configuration_digest', s.configuration_digest,
        'suites', s.suites,
        'code_version', s.code_version,
        'packages', s.packages,
        'who', s.who,
        'where', s."where",
        'created_at', s."timestamp",
        'ended_at', ended.ended_at
    )) AS document
FROM failproof.run_list AS r
JOIN promptguard.opened_events AS e ON e.stream_id = r.run_id AND e.version = 1
CROSS JOIN LATERAL json_to_record(e.payload) AS s (
    name text, run_number bigint, dialect text, "timestamp" text, configuration json,
    configuration_digest text, suites json, code_version text, packages json, who text,
    "where" text, planned_evaluations bigint, branched_from json
)
LEFT JOIN LATERAL (
    SELECT
        CASE last.topic
            WHEN 'RunPaused' THEN 'paused'
            WHEN 'RunCompleted' THEN 'completed'
            WHEN 'RunFailed' THEN 'failed'
            WHEN 'RunGivenUp' THEN 'given_up'
            ELSE 'running'
        END AS status,
        last.payload ->> 'reason' AS reason
    FROM promptguard.opened_events AS last
    WHERE last.stream_id = r.run_id
        AND last.topic IN (
            'RunStarted', 'RunPaused', 'RunResumed', 'RunCompleted', 'RunFailed', 'RunGivenUp'
        )
    ORDER BY last.version DESC
    LIMIT 1
) AS stands ON true
LEFT JOIN LATERAL (
    SELECT ending.payload ->> 'timestamp' AS ended_at
    FROM promptguard.opened_events AS ending
    WHERE ending.stream_id = r.run_id AND ending.topic IN ('RunCompleted', 'RunFailed', 'RunGivenUp')
    ORDER BY ending.version DESC
    LIMIT 1
) AS ended ON true
CROSS JOIN LATERAL (
    SELECT
        count(*) FILTER (WHERE topic = 'Scored') AS scored,
        count(*) FILTER (WHERE topic = 'EvaluationAbandoned') AS abandoned,
        count(*) FILTER (WHERE topic = 'CarriedOver') AS carried_over
    FROM (
        SELECT run_id, topic FROM failproof.stored_events
        UNION ALL
        SELECT run_id, topic FROM failproof.archived_event_list
    ) AS recorded
    WHERE run_id = r.run_id AND topic IN ('Scored', 'EvaluationAbandoned', 'CarriedOver')
) AS counted;

COMMENT ON VIEW promptguard.test_runs IS
    'Every run: who executed what, when, how, and how it stands (specification 001 § 2.1).';
COMMENT ON COLUMN promptguard.test_runs.test_run_id IS 'The run.';
COMMENT ON COLUMN promptguard.test_runs.run_number IS 'Its number.';
COMMENT ON COLUMN promptguard.test_runs.name IS 'Its name.';
COMMENT ON COLUMN promptguard.test_runs.dialect IS 'The dialect of its cases.';
COMMENT ON COLUMN promptguard.test_runs.status IS
    'running, paused, completed, failed or given_up. A killed one stays running.';
COMMENT ON COLUMN promptguard.test_runs.created_at IS 'When it began.';
COMMENT ON COLUMN promptguard.test_runs.ended_at IS 'When it was completed, failed or was given up.';
COMMENT ON COLUMN promptguard.test_runs.document IS 'All that is known of how it was executed.';
