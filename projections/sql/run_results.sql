-- One row for each case, and one for each evaluation that has begun. The table `evaluations` is made
-- from the fields of EvaluationOutcome (results/outcome_rows.py), its rows are written by
-- results/batch_evaluations.py, those of `prompts` by results/batch_prompts.py. Free text is json (a
-- JSON string), which keeps every character exactly, \u0000 included: read it with
-- answer #>> '{}'.
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

ALTER TABLE evaluations ADD PRIMARY KEY (evaluation_id);
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
    p.suite_id,
    p.case_id,
    p.category,
    p.severity,
    e.*
FROM evaluations e
LEFT JOIN prompts p USING (prompt_id);

COMMENT ON TABLE prompts IS 'One row for each case that was ever stored.';
COMMENT ON COLUMN prompts.prompt_id IS 'The case''s stream in the log.';
COMMENT ON COLUMN prompts.suite_id IS 'Its suite.';
COMMENT ON COLUMN prompts.case_id IS 'Its id.';
COMMENT ON COLUMN prompts.category IS 'Its category.';
COMMENT ON COLUMN prompts.label IS 'Its label.';
COMMENT ON COLUMN prompts.severity IS 'Its severity, else that of its first tag severity:WORD.';
COMMENT ON COLUMN prompts.tags IS 'Its tags, a JSON list.';

COMMENT ON COLUMN prompts.position IS 'The position in the log where it was stored.';
COMMENT ON COLUMN prompts.spoiled IS 'Whether its stream holds more than the case.';

COMMENT ON TABLE evaluations IS 'The rows behind the view run_results. Read that view.';

COMMENT ON VIEW run_results IS
    'One row for each evaluation that has begun or was carried over, with the case it asks.';
COMMENT ON COLUMN run_results.suite_id IS 'The suite of the case.';
COMMENT ON COLUMN run_results.case_id IS 'The case.';
COMMENT ON COLUMN run_results.category IS 'The case''s category.';
COMMENT ON COLUMN run_results.severity IS 'The case''s severity, else that of its first tag severity:WORD.';
