-- The index of rare topics again, with those that are new: what is imported of files of other tools.
DROP INDEX failproof.events_topic_idx;
CREATE INDEX events_topic_idx ON failproof.events (topic, originator_id)
WHERE topic IN (
    'AnswerImported', 'AttemptLost', 'CarriedOver', 'CaseSkipped', 'CasesImported',
    'CasesPlanned', 'ConfigurationResolved', 'ErrorRecorded', 'EvaluationAbandoned',
    'FileWritten', 'Judged', 'LedgerRepaired', 'LimitChanged', 'PricesRecorded',
    'PromptsImported', 'Reviewed', 'RunArchived', 'RunAttached', 'RunCompleted', 'RunFailed',
    'RunImported', 'RunPaused', 'RunResumed', 'RunSealed', 'RunStarted', 'RunValidated',
    'SpendCeilingChanged', 'ValidationFailed', 'ValidationPassed', 'ValidationStarted',
    'WorkerJoined', 'WorkerLeft'
);
