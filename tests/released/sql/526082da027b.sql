-- The append-only log, its one way in, and the view that auditors read.
CREATE SCHEMA IF NOT EXISTS failproof;

CREATE TABLE failproof.events (
    notification_id bigint GENERATED ALWAYS AS IDENTITY,
    originator_id uuid NOT NULL,
    originator_version bigint NOT NULL,
    topic text NOT NULL,
    state bytea NOT NULL,
    run_id uuid,
    recorded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT events_stream_version PRIMARY KEY (originator_id, originator_version)
) WITH (
    -- Rows are only ever added: there is nothing to vacuum but the visibility map.
    autovacuum_vacuum_insert_scale_factor = 0.2,
    autovacuum_analyze_scale_factor = 0.05
);

CREATE UNIQUE INDEX events_notification_id_idx ON failproof.events (notification_id);
CREATE INDEX events_run_id_idx ON failproof.events (run_id, notification_id) WHERE run_id IS NOT NULL;

COMMENT ON TABLE failproof.events IS
    'Every action as an immutable event. Positions (notification_id) follow commit order.';

-- Who drives a run now. The epoch grows with each new driver; an append that names an
-- older epoch is refused, so a process that lost its lease cannot write.
CREATE TABLE failproof.leases (
    run_id uuid PRIMARY KEY,
    epoch bigint NOT NULL,
    holder text NOT NULL,
    acquired_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- Run numbers are dense: one is taken in the transaction that records RunStarted.
CREATE TABLE failproof.run_numbers (
    run_number bigint PRIMARY KEY,
    run_id uuid NOT NULL UNIQUE
);

CREATE FUNCTION failproof.append(
    originator_ids uuid[],
    originator_versions bigint[],
    topics text[],
    states bytea[],
    run_ids uuid[],
    lease_run_id uuid DEFAULT NULL,
    lease_epoch bigint DEFAULT NULL
) RETURNS SETOF bigint
LANGUAGE plpgsql
AS $$
DECLARE
    current_epoch bigint;
BEGIN
    -- One writer at a time from here to its commit: positions then follow commit order,
    -- and a reader that polls by position never misses an event.
    PERFORM pg_advisory_xact_lock(hashtextextended('failproof.append', 0));
    IF lease_run_id IS NOT NULL THEN
        SELECT epoch INTO current_epoch FROM failproof.leases WHERE run_id = lease_run_id;
        IF current_epoch IS DISTINCT FROM lease_epoch THEN
            RAISE EXCEPTION 'lease of run % lost: this process holds epoch %, the log is at epoch %',
                lease_run_id, lease_epoch, current_epoch
                USING ERRCODE = 'FP001';
        END IF;
    END IF;
    RETURN QUERY
        INSERT INTO failproof.events AS e (originator_id, originator_version, topic, state, run_id)
        SELECT originator_id, originator_version, topic, state, run_id
        FROM unnest(originator_ids, originator_versions, topics, states, run_ids)
            WITH ORDINALITY AS new (originator_id, originator_version, topic, state, run_id, place)
        ORDER BY place
        RETURNING e.notification_id;
END;
$$;

CREATE FUNCTION failproof.refuse_change() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    RAISE EXCEPTION 'failproof.events is append-only: % refused', TG_OP
        USING ERRCODE = 'FP002', HINT = 'Record a new event instead.';
END;
$$;

CREATE TRIGGER events_are_immutable
    BEFORE UPDATE OR DELETE OR TRUNCATE ON failproof.events
    FOR EACH STATEMENT EXECUTE FUNCTION failproof.refuse_change();
ALTER TABLE failproof.events ENABLE ALWAYS TRIGGER events_are_immutable;

CREATE VIEW failproof.event_log AS
SELECT
    notification_id AS position,
    originator_id AS stream_id,
    originator_version AS stream_version,
    topic AS event_type,
    run_id,
    recorded_at,
    convert_from(state, 'UTF8')::json AS payload
FROM failproof.events;

COMMENT ON VIEW failproof.event_log IS
    'The log for auditors. payload is json, not jsonb: bytes, key order and \u0000 stay as recorded.';
