-- What stays of an event whose run was archived: all of its row but the state, which is in a file.
-- A row is in this table or in failproof.events, never in both and never in neither.
CREATE TABLE failproof.archived_events (
    notification_id bigint PRIMARY KEY,
    originator_id uuid NOT NULL,
    originator_version bigint NOT NULL,
    topic text NOT NULL,
    run_id uuid NOT NULL,
    recorded_at timestamptz NOT NULL,
    leaf_hash bytea NOT NULL,
    CONSTRAINT archived_events_stream_version UNIQUE (originator_id, originator_version),
    CONSTRAINT archived_events_leaf_is_a_hash CHECK (octet_length(leaf_hash) = 32)
);
CREATE INDEX archived_events_run_idx ON failproof.archived_events (run_id, notification_id);
COMMENT ON TABLE failproof.archived_events IS
    'Events of archived runs without their states. RunArchived names the file that holds those.';

CREATE VIEW failproof.archived_event_list WITH (security_invoker = true) AS
SELECT
    notification_id,
    originator_id,
    originator_version,
    topic,
    run_id,
    recorded_at,
    leaf_hash
FROM failproof.archived_events;

-- A run comes back whole or not at all, however the function that puts events back is called: the first call in
-- a transaction notes the run here, and its end is refused unless all of the run is in the log again.
-- Empty between transactions: the check takes the note away.
CREATE TABLE failproof.runs_being_attached (
    run_id uuid PRIMARY KEY
);
COMMENT ON TABLE failproof.runs_being_attached IS
    'Runs that a transaction is attaching: it can commit only when the whole of them is in the log.';

CREATE CONSTRAINT TRIGGER attached_whole_or_not_at_all
    AFTER INSERT ON failproof.runs_being_attached
    DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION failproof.require_whole_run();
ALTER TABLE failproof.runs_being_attached ENABLE ALWAYS TRIGGER attached_whole_or_not_at_all;
