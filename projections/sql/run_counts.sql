
-- How each run stands: its own stream folded (run), and counters that are kept by difference.
CREATE TABLE runs (
    run_id uuid PRIMARY KEY,
    run_number bigint NOT NULL,
    name text NOT NULL,
    status text NOT NULL,
    reason json,
    planned bigint NOT NULL,
    started_at timestamptz NOT NULL,
    ended_at timestamptz,
    configuration_digest text NOT NULL,
    run json NOT NULL,
    impossible bigint NOT NULL DEFAULT 0,
    told boolean NOT NULL DEFAULT true
);
CREATE INDEX runs_number_idx ON runs (run_number);

CREATE TABLE planned_cases (
    run_id uuid NOT NULL,
    prompt_id uuid NOT NULL,
    position bigint NOT NULL,
    PRIMARY KEY (run_id, prompt_id)
);

CREATE TABLE unplaced_events (
    position bigint PRIMARY KEY,
    stream_id uuid NOT NULL,
    run_id uuid,
    topic text NOT NULL
);
CREATE INDEX unplaced_events_stream_idx ON unplaced_events (stream_id);

-- group_key: a digest of the four words, which may be null or long.
CREATE TABLE run_groups (
    run_id uuid NOT NULL,
    group_key uuid NOT NULL,
    model_key text NOT NULL,
    suite_id text NOT NULL,
    category text,
    severity text,
    finished bigint NOT NULL,
    scored bigint NOT NULL,
    abandoned bigint NOT NULL,
    awaiting bigint NOT NULL,
    lost bigint NOT NULL,
    cases bigint NOT NULL,
    passed bigint NOT NULL,
    failed bigint NOT NULL,
    measured bigint NOT NULL,
    accuracy_sum numeric NOT NULL,
    PRIMARY KEY (run_id, group_key)
);

CREATE TABLE run_classes (
    run_id uuid NOT NULL,
    group_key uuid NOT NULL,
    class text NOT NULL,
    model_key text NOT NULL,
    evaluations bigint NOT NULL,
    PRIMARY KEY (run_id, group_key, class)
);

CREATE TABLE run_asking (
    run_id uuid NOT NULL,
    model_key text NOT NULL,
    planned bigint NOT NULL,
    requests bigint NOT NULL,
    answers bigint NOT NULL,
    errors bigint NOT NULL,
    retries bigint NOT NULL,
    orphaned_requests bigint NOT NULL,
    in_flight bigint NOT NULL,
    carried_over bigint NOT NULL,
    PRIMARY KEY (run_id, model_key)
);

-- Numeric, because nothing bounds what a server claims.
CREATE TABLE token_usage (
    run_id uuid NOT NULL,
    model_key text NOT NULL,
    purpose text NOT NULL,
    judge text NOT NULL,
    model_answered text NOT NULL,
    requests numeric NOT NULL,
    answers_without_usage numeric NOT NULL,
    input_tokens numeric NOT NULL,
    input_told numeric NOT NULL,
    output_tokens numeric NOT NULL,
    output_told numeric NOT NULL,
    cached_input_tokens numeric NOT NULL,
    cached_input_told numeric NOT NULL,
    cache_write_tokens numeric NOT NULL,
    cache_write_told numeric NOT NULL,
    cache_write_1h_tokens numeric NOT NULL,
    cache_write_1h_told numeric NOT NULL,
    answers_unpriced numeric NOT NULL,
    priced_usd numeric NOT NULL,
    possibly_charged numeric NOT NULL,
    possible_usd numeric NOT NULL,
    unbounded numeric NOT NULL,
    PRIMARY KEY (run_id, model_key, purpose, judge, model_answered)
);

CREATE TABLE run_errors (
    run_id uuid NOT NULL,
    error_key uuid NOT NULL,
    asked text NOT NULL,
    kind text NOT NULL,
    message json NOT NULL,
    requests bigint NOT NULL,
    PRIMARY KEY (run_id, error_key)
);

CREATE TABLE run_unscored (
    run_id uuid NOT NULL,
    unscored_key uuid NOT NULL,
    model_key text NOT NULL,
    unscored_as text NOT NULL,
    kind text NOT NULL,
    reason json NOT NULL,
    evaluations bigint NOT NULL,
    PRIMARY KEY (run_id, unscored_key)
);

CREATE TABLE run_latencies (
    run_id uuid NOT NULL,
    microseconds numeric NOT NULL,
    answers bigint NOT NULL,
    PRIMARY KEY (run_id, microseconds)
);

-- cluster_key: a digest of the model, the suite, and the case or its family.
CREATE TABLE run_clusters (
    run_id uuid NOT NULL,
    cluster_key uuid NOT NULL,
    model_key text NOT NULL,
    suite_id text NOT NULL,
    passed bigint NOT NULL,
    judged bigint NOT NULL,
    PRIMARY KEY (run_id, cluster_key)
);

CREATE VIEW progress AS
SELECT
    a.run_id,
    a.model_key,
    a.planned,
    a.requests,
    a.answers,
    a.errors,
    a.retries,
    a.orphaned_requests,
    coalesce(g.scored, 0)::bigint AS scored,
    coalesce(g.abandoned, 0)::bigint AS abandoned,
    coalesce(g.passed, 0)::bigint AS passed,
    coalesce(g.failed, 0)::bigint AS failed,
    coalesce(c.refused, 0)::bigint AS refused,
    coalesce(c.empty, 0)::bigint AS empty,
    coalesce(c.truncated, 0)::bigint AS truncated,
    coalesce(c.other, 0)::bigint AS other,
    coalesce(g.accuracy_sum, 0) AS accuracy_sum,
    a.in_flight,
    a.carried_over
FROM run_asking AS a
LEFT JOIN LATERAL (
    SELECT
        sum(scored) AS scored,
        sum(abandoned) AS abandoned,
        sum(passed) AS passed,
        sum(failed) AS failed,
        sum(accuracy_sum) AS accuracy_sum
    FROM run_groups
    WHERE run_id = a.run_id AND model_key = a.model_key
) AS g ON true
LEFT JOIN LATERAL (
    SELECT
        sum(evaluations) FILTER (WHERE class = 'refusal') AS refused,
        sum(evaluations) FILTER (WHERE class = 'empty') AS empty,
        sum(evaluations) FILTER (WHERE class = 'truncated') AS truncated,
        sum(evaluations) FILTER (
            WHERE class NOT IN ('pass', 'fail', 'refusal', 'empty', 'truncated', 'error')
        ) AS other
    FROM run_classes
    WHERE run_id = a.run_id AND model_key = a.model_key
) AS c ON true;

-- One answer whose cost is not known makes the sum NULL: a part is not the whole.
CREATE VIEW cost AS
SELECT
    u.run_id,
    u.model_key,
    u.purpose,
    u.judge,
    u.model_answered,
    u.requests,
    u.answers_without_usage,
    CASE WHEN u.input_told > 0 THEN u.input_tokens END AS input_tokens,
    CASE WHEN u.output_told > 0 THEN u.output_tokens END AS output_tokens,
    CASE WHEN u.cached_input_told > 0 THEN u.cached_input_tokens END AS cached_input_tokens,
    CASE WHEN u.answers_unpriced = 0 AND u.requests > 0 THEN trim_scale(u.priced_usd) END AS cost_usd,
    p.price_version,
    CASE WHEN u.cache_write_told > 0 THEN u.cache_write_tokens END AS cache_write_tokens,
    u.answers_unpriced,
    u.possibly_charged,
    CASE WHEN u.unbounded = 0 THEN trim_scale(u.priced_usd + u.possible_usd) END AS most_usd
FROM token_usage u
LEFT JOIN failproof.price_list p
    ON p.run_id = u.run_id AND p.model_key = coalesce(nullif(u.judge, ''), u.model_key);

COMMENT ON TABLE runs IS 'One row for each run.';
COMMENT ON COLUMN runs.run_id IS 'The run.';
COMMENT ON COLUMN runs.run_number IS 'Its number.';
COMMENT ON COLUMN runs.name IS 'Its name.';
COMMENT ON COLUMN runs.status IS
    'running, paused, completed, failed or given_up. A killed one stays running.';
COMMENT ON COLUMN runs.reason IS 'Why it paused, failed or was given up, as a JSON string.';
COMMENT ON COLUMN runs.planned IS 'Evaluations planned.';
COMMENT ON COLUMN runs.started_at IS 'Time of its start.';
COMMENT ON COLUMN runs.ended_at IS 'When it was completed, failed or was given up.';
COMMENT ON COLUMN runs.configuration_digest IS 'SHA-256 of its configuration.';
COMMENT ON COLUMN runs.run IS 'The state of the run from its own stream, without the planned cases.';
COMMENT ON COLUMN runs.impossible IS 'Evaluations whose record cannot be true or be read.';
COMMENT ON COLUMN runs.told IS
    'Whether these tables agree with the log; if not, the log is damaged: verify it.';

COMMENT ON TABLE planned_cases IS 'The cases that each run planned.';
COMMENT ON TABLE unplaced_events IS
    'Events that are unreadable or out of place; no count includes them.';
COMMENT ON TABLE run_groups IS
    'The finished evaluations of each run by model, suite, category and severity.';
COMMENT ON TABLE run_classes IS 'The same groups by class. Read progress.';
COMMENT ON TABLE run_asking IS 'Requests of each run for each model. Read the view progress.';
COMMENT ON TABLE run_errors IS 'Failed requests of each run that got the same error.';
COMMENT ON TABLE run_unscored IS
    'Evaluations of each run that ended without a score, by model, group and reason.';
COMMENT ON TABLE run_latencies IS
    'Answers of the models under test by their time in microseconds, rounded to three digits.';
COMMENT ON TABLE run_clusters IS
    'Evaluations with a verdict that are not independent: of one model and one case or family.';

COMMENT ON VIEW progress IS 'How each model of each run stands.';
COMMENT ON COLUMN progress.run_id IS 'The run.';
COMMENT ON COLUMN progress.model_key IS 'The configured model.';
COMMENT ON COLUMN progress.planned IS 'Evaluations planned.';
COMMENT ON COLUMN progress.requests IS 'Requests sent by this run, to the model and to the judge.';
COMMENT ON COLUMN progress.answers IS 'Answers recorded.';
COMMENT ON COLUMN progress.errors IS 'Requests that failed; an answer of another model is one, too.';
COMMENT ON COLUMN progress.retries IS 'Requests that repeated a failed one.';
COMMENT ON COLUMN progress.orphaned_requests IS 'Requests without a recorded outcome.';
COMMENT ON COLUMN progress.scored IS 'Scored evaluations, including carried-over ones.';
COMMENT ON COLUMN progress.abandoned IS 'Evaluations that ended without a score, including carried-over ones.';
COMMENT ON COLUMN progress.passed IS 'Scored evaluations that pass by their dialect.';
COMMENT ON COLUMN progress.failed IS 'Scored evaluations that do not pass by their dialect.';
COMMENT ON COLUMN progress.refused IS 'Finished evaluations that are classified as refusal.';
COMMENT ON COLUMN progress.empty IS 'Finished evaluations that are classified as empty.';
COMMENT ON COLUMN progress.truncated IS 'Finished evaluations that are classified as truncated.';
COMMENT ON COLUMN progress.other IS
    'Finished evaluations of another class: none of these, nor pass, fail or error.';
COMMENT ON COLUMN progress.accuracy_sum IS 'Sum of the scores named accuracy, exactly.';
COMMENT ON COLUMN progress.in_flight IS 'Requests that wait for an answer.';
COMMENT ON COLUMN progress.carried_over IS 'Evaluations taken over from another run.';

COMMENT ON TABLE token_usage IS 'The counts behind the view cost. Read that view.';

COMMENT ON VIEW cost IS
    'Tokens and costs of each run by model, without carried-over answers.';
COMMENT ON COLUMN cost.run_id IS 'The run.';
COMMENT ON COLUMN cost.model_key IS 'The configured model that is evaluated.';
COMMENT ON COLUMN cost.purpose IS 'target or judge.';
COMMENT ON COLUMN cost.judge IS 'The judge that answered; empty for the model under test.';
COMMENT ON COLUMN cost.model_answered IS
    'The model as it named itself; empty when it did not, or gave no answer.';
COMMENT ON COLUMN cost.requests IS 'Answers counted.';
COMMENT ON COLUMN cost.answers_without_usage IS
    'Answers without both token counts; the sums lack their tokens.';
COMMENT ON COLUMN cost.input_tokens IS 'Tokens read, summed over the answers that reported them; null when none did.';
COMMENT ON COLUMN cost.output_tokens IS
    'Tokens written, summed over the answers that reported them; null when none did.';
COMMENT ON COLUMN cost.cached_input_tokens IS
    'The part of the tokens read that came from a cache; null when no answer reported it.';
COMMENT ON COLUMN cost.cost_usd IS
    'US dollars, each answer by its own usage; null when a price or a token count is unknown, or without answers.';
COMMENT ON COLUMN cost.price_version IS 'The price data that was used.';
COMMENT ON COLUMN cost.cache_write_tokens IS
    'The part of the tokens read that was written to a cache; null when no answer reported it.';
COMMENT ON COLUMN cost.answers_unpriced IS 'Answers of unknown cost.';
COMMENT ON COLUMN cost.possibly_charged IS
    'Requests without an answer that may have been charged; no other column counts them.';
COMMENT ON COLUMN cost.most_usd IS
    'US dollars that these answers and requests cost at most; null when nothing bounds them.';
