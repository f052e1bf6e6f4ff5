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
    tags json NOT NULL,
    position bigint NOT NULL,
    spoiled boolean NOT NULL DEFAULT false
);
CREATE INDEX prompts_case_idx ON prompts (case_id, suite_id, prompt_id);
CREATE INDEX prompts_suite_idx ON prompts (suite_id, case_id, prompt_id);

-- Every field of an outcome. Numbers are as they were reckoned: nothing is rounded here.
CREATE TABLE evaluations (
    evaluation_id uuid PRIMARY KEY,
    run_id uuid NOT NULL,
    prompt_id uuid NOT NULL,
    model_key text NOT NULL,
    repetition integer NOT NULL,
    status text NOT NULL,
    awaiting_review boolean NOT NULL,
    lost boolean NOT NULL,
    unscored_as text,
    passed boolean,
    source_run_id uuid,
    source_evaluation_id uuid,
    started_at timestamptz,
    finished_at timestamptz,
    requests integer NOT NULL,
    retries integer NOT NULL,
    lost_requests integer NOT NULL,
    in_flight boolean NOT NULL,
    errors json,
    error_kind text,
    error_message json,
    response json,
    finish_reason text,
    model_answered text,
    latency_ms double precision,
    first_token_ms double precision,
    tokens_per_second double precision,
    input_tokens numeric,
    output_tokens numeric,
    turns_without_usage integer NOT NULL,
    cost_usd numeric,
    primary_class text,
    details json,
    judges json,
    scores json,
    accuracy double precision,
    reason json,
    ended_kind text,
    graded_by json,
    response_ms json,
    spending json,
    impossible json,
    counted boolean NOT NULL,
    first_position bigint NOT NULL,
    last_position bigint NOT NULL
);
-- Those that need attention first, then as they ended: reading.chosen_results has the same.
CREATE INDEX evaluations_order_idx ON evaluations (
    run_id,
    (CASE WHEN NOT passed THEN 0 WHEN lost THEN 1 WHEN awaiting_review THEN 3
        WHEN status = 'abandoned' THEN 2 WHEN status <> 'scored' THEN 6
        WHEN passed IS NULL THEN 4 ELSE 5 END),
    last_position,
    evaluation_id
);
CREATE INDEX evaluations_prompt_idx ON evaluations (prompt_id, last_position);
CREATE INDEX evaluations_source_idx ON evaluations (source_evaluation_id)
WHERE source_evaluation_id IS NOT NULL;
CREATE INDEX evaluations_awaiting_idx ON evaluations (last_position) WHERE awaiting_review;

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
    e.requests,
    e.retries,
    e.lost_requests,
    e.model_answered,
    e.response,
    e.finish_reason,
    e.primary_class,
    e.details,
    e.scores,
    e.accuracy,
    e.passed,
    e.error_kind,
    e.error_message,
    e.input_tokens,
    e.output_tokens,
    e.turns_without_usage,
    e.cost_usd,
    round(e.latency_ms::numeric, 3) AS latency_ms,
    e.first_token_ms,
    e.tokens_per_second,
    e.started_at,
    e.finished_at,
    e.last_position,
    e.awaiting_review,
    e.lost,
    e.reason,
    e.ended_kind,
    e.judges,
    e.errors,
    e.source_run_id,
    e.source_evaluation_id,
    e.in_flight,
    e.response_ms,
    e.spending,
    e.impossible,
    e.unscored_as,
    e.graded_by
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

COMMENT ON COLUMN prompts.position IS 'The position in the log where it was stored.';
COMMENT ON COLUMN prompts.spoiled IS 'Whether its stream holds more than the case.';

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
COMMENT ON COLUMN run_results.status IS 'running, scored or abandoned; planned where nothing of its record can be true.';
COMMENT ON COLUMN run_results.requests IS 'Requests sent, to the model and to the judge.';
COMMENT ON COLUMN run_results.retries IS 'Those of them that repeated a failed one.';
COMMENT ON COLUMN run_results.lost_requests IS
    'Requests whose outcome nobody recorded, because the process died.';
COMMENT ON COLUMN run_results.model_answered IS 'The model as the last answer named itself.';
COMMENT ON COLUMN run_results.response IS 'The last answer''s text, as a JSON string.';
COMMENT ON COLUMN run_results.finish_reason IS 'Why the last answer ended, if it said so.';
COMMENT ON COLUMN run_results.primary_class IS
    'pass, fail, refusal, empty, truncated, error, or another class of the dialect.';
COMMENT ON COLUMN run_results.details IS 'What the classifier saw and which rule decided.';
COMMENT ON COLUMN run_results.scores IS 'Every score by its name.';
COMMENT ON COLUMN run_results.accuracy IS 'The score named accuracy.';
COMMENT ON COLUMN run_results.passed IS
    'Whether it passed, as its dialect says; null without a score or a pass mark.';
COMMENT ON COLUMN run_results.error_kind IS
    'The error that no later answer made good, if there is one.';
COMMENT ON COLUMN run_results.error_message IS 'Its message, as a JSON string.';
COMMENT ON COLUMN run_results.input_tokens IS
    'Tokens of the turns that said, of the model alone; null when never said.';
COMMENT ON COLUMN run_results.output_tokens IS
    'Tokens of the turns that said, of the model alone; null when never said.';
COMMENT ON COLUMN run_results.turns_without_usage IS
    'Turns that did not say both: their tokens are missing in the two sums.';
COMMENT ON COLUMN run_results.cost_usd IS
    'US dollars of all turns of the model, at the prices of the run; null when one is unknown.';
COMMENT ON COLUMN run_results.latency_ms IS
    'Milliseconds from request to answer, summed over all turns, to the microsecond.';
COMMENT ON COLUMN run_results.first_token_ms IS
    'Milliseconds to the first token: the mean of the turns that were streamed.';
COMMENT ON COLUMN run_results.tokens_per_second IS
    'Of the turns that were streamed: tokens after the first by the time after it.';
COMMENT ON COLUMN run_results.started_at IS
    'When its first event was recorded, where it was evaluated.';
COMMENT ON COLUMN run_results.finished_at IS 'When it was scored or abandoned.';
COMMENT ON COLUMN run_results.last_position IS 'The position of its newest event in the log.';
COMMENT ON COLUMN run_results.awaiting_review IS
    'Whether it is abandoned because only people can judge the answer.';
COMMENT ON COLUMN run_results.lost IS
    'Whether no usable reply came, of the model or of judges that it needed.';
COMMENT ON COLUMN run_results.unscored_as IS
    'Why it ended without a score: no_answer, no_verdict, undecided, cut_off, withheld, grading_stopped, ungraded or awaiting_people; null otherwise.';
COMMENT ON COLUMN run_results.reason IS
    'Why the score is what it is, or why there is none, as a JSON string; null when not said.';
COMMENT ON COLUMN run_results.ended_kind IS 'Why it was abandoned, in one word.';
COMMENT ON COLUMN run_results.graded_by IS
    'The version of each classifier, reader of judges and scorer that had a say, by its name.';
COMMENT ON COLUMN run_results.judges IS
    'A JSON list of [judge, verdict, problem], in the order in which they were asked.';
COMMENT ON COLUMN run_results.errors IS
    'Every attempt that failed, a JSON list of [kind, judge, message].';
COMMENT ON COLUMN run_results.source_run_id IS 'The run that it was carried over from.';
COMMENT ON COLUMN run_results.source_evaluation_id IS 'The evaluation there.';
COMMENT ON COLUMN run_results.in_flight IS 'Whether a request waits for its outcome.';
COMMENT ON COLUMN run_results.response_ms IS
    'The milliseconds of each answer of this run, judges'' included, a JSON list.';
COMMENT ON COLUMN run_results.spending IS
    'By model or judge: answers, those of unknown cost, known US dollars, and of the tokens read, written, cached, stored and stored for an hour the known sum and how many answers told.';
COMMENT ON COLUMN run_results.impossible IS
    'Why its record cannot be true or be read, as a JSON string; the rest is what came before.';
