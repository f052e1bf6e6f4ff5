-- How each run and each of its models stands. accuracy_sum adds each score rounded to six decimals,
-- exactly, so that it does not depend on the order of adding.
CREATE TABLE runs (
    run_id uuid PRIMARY KEY,
    run_number bigint NOT NULL,
    name text NOT NULL,
    status text NOT NULL,
    reason json,
    planned integer NOT NULL,
    started_at timestamptz NOT NULL,
    ended_at timestamptz,
    configuration_digest text NOT NULL
);

CREATE TABLE progress (
    run_id uuid NOT NULL,
    model_key text NOT NULL,
    planned bigint NOT NULL DEFAULT 0,
    requests bigint NOT NULL DEFAULT 0,
    answers bigint NOT NULL DEFAULT 0,
    errors bigint NOT NULL DEFAULT 0,
    retries bigint NOT NULL DEFAULT 0,
    lost_attempts bigint NOT NULL DEFAULT 0,
    scored bigint NOT NULL DEFAULT 0,
    abandoned bigint NOT NULL DEFAULT 0,
    passed bigint NOT NULL DEFAULT 0,
    failed bigint NOT NULL DEFAULT 0,
    refused bigint NOT NULL DEFAULT 0,
    empty bigint NOT NULL DEFAULT 0,
    truncated bigint NOT NULL DEFAULT 0,
    other bigint NOT NULL DEFAULT 0,
    accuracy_sum numeric NOT NULL DEFAULT 0,
    in_flight bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (run_id, model_key)
);

COMMENT ON TABLE runs IS 'One row for each run.';
COMMENT ON COLUMN runs.run_id IS 'The run.';
COMMENT ON COLUMN runs.run_number IS 'Its number.';
COMMENT ON COLUMN runs.name IS 'Its name.';
COMMENT ON COLUMN runs.status IS
    'running, paused, completed or failed. A killed one stays running.';
COMMENT ON COLUMN runs.reason IS 'Why it paused or failed, as a JSON string.';
COMMENT ON COLUMN runs.planned IS 'Evaluations planned.';
COMMENT ON COLUMN runs.started_at IS 'When it began.';
COMMENT ON COLUMN runs.ended_at IS 'When it was completed or failed.';
COMMENT ON COLUMN runs.configuration_digest IS 'SHA-256 of its configuration.';

COMMENT ON TABLE progress IS 'How each model of each run stands.';
COMMENT ON COLUMN progress.run_id IS 'The run.';
COMMENT ON COLUMN progress.model_key IS 'The configured model.';
COMMENT ON COLUMN progress.planned IS 'Evaluations planned.';
COMMENT ON COLUMN progress.requests IS 'Requests sent by this run, to the model and to the judge.';
COMMENT ON COLUMN progress.answers IS 'Answers recorded.';
COMMENT ON COLUMN progress.errors IS 'Attempts that failed; an answer of another model is one, too.';
COMMENT ON COLUMN progress.retries IS 'Requests that repeated a failed one.';
COMMENT ON COLUMN progress.lost_attempts IS 'Requests whose outcome nobody recorded.';
COMMENT ON COLUMN progress.scored IS 'Evaluations scored, those included that were carried over.';
COMMENT ON COLUMN progress.abandoned IS 'Evaluations ended without a score, in the same way.';
COMMENT ON COLUMN progress.passed IS 'Classified as pass.';
COMMENT ON COLUMN progress.failed IS 'Classified as fail.';
COMMENT ON COLUMN progress.refused IS 'Classified as refusal.';
COMMENT ON COLUMN progress.empty IS 'Classified as empty.';
COMMENT ON COLUMN progress.truncated IS 'Classified as truncated.';
COMMENT ON COLUMN progress.other IS 'Classified as anything else but error.';
COMMENT ON COLUMN progress.accuracy_sum IS
    'Sum of the scores named accuracy, each to six decimals.';
COMMENT ON COLUMN progress.in_flight IS 'Requests that wait for an answer.';
