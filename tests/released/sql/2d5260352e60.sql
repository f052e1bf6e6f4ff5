-- What is asked of the log (docs/how-to/auditing.md, the views of promptguard) is answered from
-- indexes, however long the log is. Each holds few events, so that appending stays what it was.

-- Every topic but the five that nearly all events have. By stream, so that whoever asks for the
-- events of one topic in one stream reads no others, whatever the planner takes it for. By name:
-- a topic that no event has may be too long for an index, and must not stop an upgrade.
CREATE INDEX events_topic_idx ON failproof.events (topic, originator_id)
WHERE topic IN (
    'AttemptLost', 'CarriedOver', 'CaseSkipped', 'CasesPlanned', 'ConfigurationResolved',
    'ErrorRecorded', 'EvaluationAbandoned', 'FileWritten', 'Judged', 'LedgerRepaired',
    'LimitChanged', 'PricesRecorded', 'PromptsImported', 'Reviewed', 'RunCompleted', 'RunFailed',
    'RunPaused', 'RunResumed', 'RunSealed', 'RunStarted', 'RunValidated', 'ValidationFailed',
    'ValidationPassed', 'ValidationStarted'
);

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
DO $$
BEGIN
    -- Before PostgreSQL 18 those that stand stay, and tell of the runs until now.
    IF to_regprocedure('pg_clear_attribute_stats(text, text, text, boolean)') IS NOT NULL THEN
        EXECUTE 'SELECT pg_clear_attribute_stats(''failproof'', ''events'', ''run_id'', false)';
    END IF;
END;
$$;
