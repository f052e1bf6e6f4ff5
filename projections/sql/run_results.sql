-- One row for each case, and one for each evaluation that has begun. Free text is json (a
-- JSON string), which keeps every character exactly, \u0000 included: read it with
-- response #>> '{}'.
CREATE TABLE prompts (
    prompt_id uuid PRIMARY KEY,
    suite_id text NOT NULL,
    case_id text NOT NULL,
    category text,
    label text,
    severity text,
    tags json NOT NULL
);

-- Sums are exact, so that they do not depend on the order of adding: no double precision.
-- error_position: where an error was last recorded, or taken back by an answer.
CREATE TABLE evaluations (
    evaluation_id uuid PRIMARY KEY,
    run_id uuid NOT NULL,
    prompt_id uuid NOT NULL,
    model_key text NOT NULL,
    repetition integer NOT NULL,
    status text NOT NULL,
    attempts integer NOT NULL,
    retries integer NOT NULL,
    lost_attempts integer NOT NULL,
    model_answered text,
    response json,
    finish_reason text,
    primary_class text,
    details json,
    scores json,
    accuracy double precision,
    error_kind text,
    error_message json,
    error_position bigint,
    input_tokens numeric,
    output_tokens numeric,
    latency_ms numeric,
    started_at timestamptz NOT NULL,
    finished_at timestamptz,
    last_position bigint NOT NULL
);
CREATE INDEX evaluations_run_idx ON evaluations (run_id);

CREATE VIEW run_results AS
SELECT
    e.evaluation_id,
    e.run_id,
    e.prompt_id,
    p.suite_id,
    p.case_id,
    p.category,
    p.severity,
    e.model_key,
    e.repetition,
    e.status,
    e.attempts,
    e.retries,
    e.lost_attempts,
    e.model_answered,
    e.response,
    e.finish_reason,
    e.primary_class,
    e.details,
    e.scores,
    e.accuracy,
    e.error_kind,
    e.error_message,
    e.input_tokens,
    e.output_tokens,
    e.latency_ms,
    e.started_at,
    e.finished_at,
    e.last_position
FROM evaluations e
LEFT JOIN prompts p USING (prompt_id);

COMMENT ON TABLE prompts IS 'One row for each case that was ever stored.';
COMMENT ON COLUMN prompts.prompt_id IS 'The case''s stream in the log.';
COMMENT ON COLUMN prompts.suite_id IS 'Its suite.';
COMMENT ON COLUMN prompts.case_id IS 'Its id.';
COMMENT ON COLUMN prompts.category IS 'Its category.';
COMMENT ON COLUMN prompts.label IS 'Its label.';
COMMENT ON COLUMN prompts.severity IS 'Its severity.';
COMMENT ON COLUMN prompts.tags IS 'Its tags, a JSON list.';

COMMENT ON TABLE evaluations IS 'What run_results is made of. Read that.';

COMMENT ON VIEW run_results IS
    'One row for each evaluation that has begun or was carried over, with the case it asks.';
COMMENT ON COLUMN run_results.evaluation_id IS 'The evaluation''s stream in the log.';
COMMENT ON COLUMN run_results.run_id IS 'The run.';
COMMENT ON COLUMN run_results.prompt_id IS 'The case''s stream in the log; see prompts.';
COMMENT ON COLUMN run_results.suite_id IS 'The suite of the case.';
COMMENT ON COLUMN run_results.case_id IS 'The case.';
COMMENT ON COLUMN run_results.category IS 'The case''s category.';
COMMENT ON COLUMN run_results.severity IS 'The case''s severity.';
COMMENT ON COLUMN run_results.model_key IS 'The configured model that was asked.';
COMMENT ON COLUMN run_results.repetition IS 'Which repetition of the case, from 1.';
COMMENT ON COLUMN run_results.status IS 'running, scored or abandoned.';
COMMENT ON COLUMN run_results.attempts IS 'Requests sent, to the model and to the judge.';
COMMENT ON COLUMN run_results.retries IS 'Those of them that repeated a failed one.';
COMMENT ON COLUMN run_results.lost_attempts IS
    'Requests whose outcome nobody recorded, because the process died.';
COMMENT ON COLUMN run_results.model_answered IS 'The model as the last answer named itself.';
COMMENT ON COLUMN run_results.response IS 'The last answer''s text, as a JSON string.';
COMMENT ON COLUMN run_results.finish_reason IS 'Why the last answer ended, if it said so.';
COMMENT ON COLUMN run_results.primary_class IS
    'pass, fail, refusal, empty, truncated, error, or another class of the dialect.';
COMMENT ON COLUMN run_results.details IS 'What the classifier saw and which rule decided.';
COMMENT ON COLUMN run_results.scores IS 'Every score by its name.';
COMMENT ON COLUMN run_results.accuracy IS 'The score named accuracy.';
COMMENT ON COLUMN run_results.error_kind IS
    'The error that no later answer made good, if there is one.';
COMMENT ON COLUMN run_results.error_message IS 'Its message, as a JSON string.';
COMMENT ON COLUMN run_results.input_tokens IS
    'Tokens of all turns, of the model alone; null when never said.';
COMMENT ON COLUMN run_results.output_tokens IS
    'Tokens of all turns, of the model alone; null when never said.';
COMMENT ON COLUMN run_results.latency_ms IS
    'Milliseconds from request to answer, exact sum over all turns, each to the microsecond.';
COMMENT ON COLUMN run_results.started_at IS
    'When its first event was recorded, where it was evaluated.';
COMMENT ON COLUMN run_results.finished_at IS 'When it was scored or abandoned.';
COMMENT ON COLUMN run_results.last_position IS 'The position of its newest event in the log.';
