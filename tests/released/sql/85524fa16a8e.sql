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

CREATE VIEW failproof.archived_event_list AS
SELECT
    notification_id,
    originator_id,
    originator_version,
    topic,
    run_id,
    recorded_at,
    leaf_hash
FROM failproof.archived_events;

-- The same triggers as on the log: `refuse_change` says which rows may leave, and where to.
CREATE TRIGGER statements_change_nothing
    BEFORE UPDATE OR DELETE OR TRUNCATE ON failproof.archived_events
    FOR EACH STATEMENT EXECUTE FUNCTION failproof.refuse_change();
CREATE TRIGGER rows_never_change
    BEFORE UPDATE OR DELETE ON failproof.archived_events
    FOR EACH ROW EXECUTE FUNCTION failproof.refuse_change();
ALTER TABLE failproof.archived_events ENABLE ALWAYS TRIGGER statements_change_nothing;
ALTER TABLE failproof.archived_events ENABLE ALWAYS TRIGGER rows_never_change;

-- The index of rare topics again, with those that are new.
DROP INDEX failproof.events_topic_idx;
CREATE INDEX events_topic_idx ON failproof.events (topic, originator_id)
WHERE topic IN (
    'AttemptLost', 'CarriedOver', 'CaseSkipped', 'CasesPlanned', 'ConfigurationResolved',
    'ErrorRecorded', 'EvaluationAbandoned', 'FileWritten', 'Judged', 'LedgerRepaired',
    'LimitChanged', 'PricesRecorded', 'PromptsImported', 'Reviewed', 'RunArchived',
    'RunAttached', 'RunCompleted', 'RunFailed', 'RunPaused', 'RunResumed', 'RunSealed',
    'RunStarted', 'RunValidated', 'SpendCeilingChanged', 'ValidationFailed',
    'ValidationPassed', 'ValidationStarted', 'WorkerJoined', 'WorkerLeft'
);
