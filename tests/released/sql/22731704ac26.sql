-- Which login appended an event, as the database knows it: what a client says of itself is a claim.
-- One row for each change of the login, so that events stay as small as they are.
CREATE TABLE failproof.append_logins (
    from_position bigint PRIMARY KEY,
    login name NOT NULL
);
COMMENT ON TABLE failproof.append_logins IS
    'The session_user of appends: that of an event is in the last row at or below its position.';
CREATE TRIGGER statements_change_nothing
    BEFORE UPDATE OR DELETE OR TRUNCATE ON failproof.append_logins
    FOR EACH STATEMENT EXECUTE FUNCTION failproof.refuse_change();
CREATE TRIGGER rows_never_change
    BEFORE UPDATE OR DELETE ON failproof.append_logins
    FOR EACH ROW EXECUTE FUNCTION failproof.refuse_change();
ALTER TABLE failproof.append_logins ENABLE ALWAYS TRIGGER statements_change_nothing;
ALTER TABLE failproof.append_logins ENABLE ALWAYS TRIGGER rows_never_change;

CREATE VIEW failproof.append_login_list AS
SELECT
    from_position,
    lead(from_position) OVER (ORDER BY from_position) - 1 AS to_position,
    login::text AS login
FROM failproof.append_logins;
COMMENT ON VIEW failproof.append_login_list IS
    'Which login appended the events from one position to another; NULL: up to the end.';

-- The index of rare topics again, with those that are new.
DROP INDEX failproof.events_topic_idx;
CREATE INDEX events_topic_idx ON failproof.events (topic, originator_id)
WHERE topic IN (
    'AnswerImported', 'AttemptLost', 'CarriedOver', 'CaseSkipped', 'CasesImported',
    'CasesPlanned', 'ConfigurationResolved', 'ErrorRecorded', 'EvaluationAbandoned',
    'FileWritten', 'Judged', 'LedgerRepaired', 'LimitChanged', 'PricesRecorded',
    'PromptsImported', 'ReviewClosed', 'ReviewExported', 'Reviewed', 'RunArchived', 'RunAttached', 'RunCompleted', 'RunFailed',
    'RunGivenUp', 'RunImported', 'RunPaused', 'RunResumed', 'RunSealed', 'RunStarted', 'RunValidated',
    'SpendCeilingChanged', 'ValidationFailed', 'ValidationPassed', 'ValidationStarted',
    'WorkerJoined', 'WorkerLeft'
);
