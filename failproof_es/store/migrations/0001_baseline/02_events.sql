-- The append-only log.
CREATE TABLE failproof.events (
    notification_id bigint GENERATED ALWAYS AS IDENTITY,
    originator_id uuid NOT NULL,
    originator_version bigint NOT NULL,
    topic text NOT NULL,
    state bytea NOT NULL,
    run_id uuid,
    recorded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    leaf_hash bytea NOT NULL,
    CONSTRAINT events_stream_version PRIMARY KEY (originator_id, originator_version),
    CONSTRAINT events_version_counts CHECK (originator_version >= 0),
    CONSTRAINT events_topic_is_a_name CHECK (
        octet_length(topic) <= 128 AND topic ~ '^[A-Za-z][A-Za-z0-9_-]*$'
    ),
    CONSTRAINT events_leaf_is_a_hash CHECK (octet_length(leaf_hash) = 32)
) WITH (
    -- Rows are only ever added: there is nothing to vacuum but the visibility map.
    autovacuum_vacuum_insert_scale_factor = 0.2,
    autovacuum_analyze_scale_factor = 0.05
);
COMMENT ON TABLE failproof.events IS
    'Every action as an immutable event. Positions (notification_id) follow commit order.';
COMMENT ON COLUMN failproof.events.leaf_hash IS
    'The leaf of the Merkle tree, as the writer of the event computed it before the insert.';

CREATE UNIQUE INDEX events_notification_id_idx ON failproof.events (notification_id);
CREATE INDEX events_run_id_idx ON failproof.events (run_id, notification_id) WHERE run_id IS NOT NULL;

-- What is asked of the log (docs/how-to/auditing.md, the views of promptguard) is answered from
-- indexes, however long the log is. Each holds few events, so that appending costs little.

-- Every topic but the five that nearly all events have. By stream, so that whoever asks for the
-- events of one topic in one stream reads no others, whatever the planner takes it for.
CREATE INDEX events_topic_idx ON failproof.events (topic, originator_id)
WHERE topic NOT IN ('PromptStored', 'RequestSent', 'ResponseReceived', 'Classified', 'Scored');

-- The prices that a run recorded.
CREATE INDEX events_prices_idx ON failproof.events (originator_id, originator_version)
WHERE topic = 'PricesRecorded';

-- Whether anybody reviewed anything is asked of the whole log.
CREATE INDEX events_reviewed_idx ON failproof.events (notification_id)
WHERE topic = 'Reviewed';

-- What was sent in a window of time.
CREATE INDEX events_sent_idx ON failproof.events (recorded_at) WHERE topic = 'RequestSent';

-- How the evaluations of a run ended, counted without looking at the rows.
CREATE INDEX events_ended_idx ON failproof.events (run_id, topic)
WHERE topic IN ('Scored', 'EvaluationAbandoned', 'CarriedOver');

-- The cases of the dialect promptguard, and few others: its name in plain letters, or whatever
-- JSON writes with escapes, among which its name might be.
CREATE INDEX events_promptguard_idx ON failproof.events (originator_id)
WHERE topic = 'PromptStored'
    AND (
        position('promptguard'::bytea IN state) > 0 OR position('\\u00'::bytea IN state) > 0
    );

-- The events of a run stand together in the log. The planner takes them to be spread over all of
-- it, and then reads the log from its beginning to find the first ones of a large run. Without
-- statistics of the column it takes every run for a small one and asks the index.
ALTER TABLE failproof.events ALTER COLUMN run_id SET STATISTICS 0;

CREATE VIEW failproof.stored_events WITH (security_invoker = true) AS
SELECT
    notification_id,
    originator_id,
    originator_version,
    topic,
    state,
    run_id,
    recorded_at,
    leaf_hash
FROM failproof.events;
COMMENT ON VIEW failproof.stored_events IS
    'The log with each event''s exact bytes, for programs. event_log is for people.';

-- Whoever appends waits for the others here. An advisory lock could be held by any session of the
-- database. The table stays empty.
CREATE TABLE failproof.append_lock () WITH (autovacuum_enabled = false);
COMMENT ON TABLE failproof.append_lock IS 'Locked by whoever appends, until its transaction ends.';

CREATE VIEW failproof.event_log WITH (security_invoker = true) AS
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
