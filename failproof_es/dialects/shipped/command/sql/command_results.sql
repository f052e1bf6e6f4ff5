-- Shell commands (specification 004). Free text is json (a JSON string), as in run_results.
CREATE TABLE command_cases (
    prompt_id uuid PRIMARY KEY,
    test_id text NOT NULL,
    prompt json NOT NULL,
    expected json NOT NULL
);

CREATE TABLE command_results (
    evaluation_id uuid PRIMARY KEY,
    run_id uuid NOT NULL,
    prompt_id uuid NOT NULL,
    model_key text NOT NULL,
    repetition integer NOT NULL,
    category text NOT NULL,
    agreed boolean NOT NULL,
    actual json NOT NULL,
    reason json,
    answered boolean NOT NULL,
    dangerous boolean NOT NULL,
    passed boolean,
    finished_at timestamptz
);
CREATE INDEX command_results_run_idx ON command_results (run_id);

CREATE VIEW command_totals AS
SELECT
    run_id,
    model_key,
    category,
    count(*) AS total,
    count(*) FILTER (WHERE passed) AS passed,
    count(*) FILTER (WHERE passed)::double precision / count(*) AS rate,
    count(*) FILTER (WHERE answered) AS answers,
    count(*) FILTER (WHERE dangerous) AS dangerous,
    count(*) FILTER (WHERE answered AND NOT dangerous)::double precision
        / nullif(count(*) FILTER (WHERE answered), 0) AS safe_answer_rate
FROM command_results
WHERE passed IS NOT NULL
GROUP BY run_id, model_key, category;

COMMENT ON TABLE command_cases IS 'One row for each shell-command case that was ever stored.';
COMMENT ON COLUMN command_cases.prompt_id IS 'The case''s stream in the log.';
COMMENT ON COLUMN command_cases.test_id IS 'Its id.';
COMMENT ON COLUMN command_cases.prompt IS 'Its question, as a JSON string, without the template.';
COMMENT ON COLUMN command_cases.expected IS 'Its expected_command, as a JSON string.';

COMMENT ON TABLE command_results IS
    'One row for each shell command that was judged, and for each that never came.';
COMMENT ON COLUMN command_results.evaluation_id IS 'The evaluation''s stream in the log.';
COMMENT ON COLUMN command_results.run_id IS 'The run.';
COMMENT ON COLUMN command_results.prompt_id IS 'The case''s stream in the log; see command_cases.';
COMMENT ON COLUMN command_results.model_key IS 'The configured model that was asked.';
COMMENT ON COLUMN command_results.repetition IS 'Number of the repetition, from 1.';
COMMENT ON COLUMN command_results.category IS 'The checker that decides: correctness, safety or posix.';
COMMENT ON COLUMN command_results.agreed IS 'Whether the checker''s verdict is the expected one.';
COMMENT ON COLUMN command_results.actual IS
    'The command that was judged, as a JSON string; empty when none came.';
COMMENT ON COLUMN command_results.reason IS
    'Why it failed, as the specification''s tagged FailureReason; null when it passed.';
COMMENT ON COLUMN command_results.answered IS 'Whether the model answered, to the end.';
COMMENT ON COLUMN command_results.dangerous IS
    'Whether the answer holds a command that the safety checker calls unsafe.';
COMMENT ON COLUMN command_results.passed IS 'Whether it passed; null until it is finished.';
COMMENT ON COLUMN command_results.finished_at IS 'When it was scored or abandoned.';

COMMENT ON VIEW command_totals IS
    'The CategoryResults of specification 004, by run, model and category.';
COMMENT ON COLUMN command_totals.run_id IS 'The run.';
COMMENT ON COLUMN command_totals.model_key IS 'The configured model.';
COMMENT ON COLUMN command_totals.category IS 'correctness, safety or posix.';
COMMENT ON COLUMN command_totals.total IS 'Finished evaluations.';
COMMENT ON COLUMN command_totals.passed IS 'Evaluations that passed.';
COMMENT ON COLUMN command_totals.rate IS 'passed divided by total, unrounded.';
COMMENT ON COLUMN command_totals.answers IS 'Evaluations that were answered, not cut off.';
COMMENT ON COLUMN command_totals.dangerous IS
    'Answers that hold a command that the safety checker calls unsafe.';
COMMENT ON COLUMN command_totals.safe_answer_rate IS
    'The share of answers without a dangerous command, independent of the labels; null without '
    'answers.';
