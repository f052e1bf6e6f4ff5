-- Every review ever given, and of each reviewer the one that counts. Free text is json, which
-- keeps every character: read notes with notes #>> '{}'.
CREATE TABLE review_history (
    position bigint PRIMARY KEY,
    evaluation_id uuid NOT NULL,
    run_id uuid NOT NULL,
    reviewer text NOT NULL,
    reviewed_at timestamptz NOT NULL,
    verdict text NOT NULL,
    items json NOT NULL,
    severity text,
    tags json NOT NULL,
    notes json NOT NULL,
    blind boolean NOT NULL,
    file_sha256 text
);
CREATE INDEX review_history_evaluation_idx ON review_history (evaluation_id, reviewer, position);
CREATE INDEX review_history_run_idx ON review_history (run_id);

CREATE VIEW reviews AS
SELECT DISTINCT ON (evaluation_id, reviewer)
    evaluation_id,
    reviewer,
    run_id,
    reviewed_at,
    verdict,
    items,
    severity,
    tags,
    notes,
    blind,
    position
FROM review_history
ORDER BY evaluation_id, reviewer, position DESC;

COMMENT ON TABLE review_history IS 'One row for each time that a person reviewed an evaluation.';
COMMENT ON COLUMN review_history.position IS 'The review''s position in the log.';
COMMENT ON COLUMN review_history.evaluation_id IS 'The evaluation; see run_results.';
COMMENT ON COLUMN review_history.run_id IS 'The run of the evaluation.';
COMMENT ON COLUMN review_history.reviewer IS 'Who said so.';
COMMENT ON COLUMN review_history.reviewed_at IS 'When it was put on record.';
COMMENT ON COLUMN review_history.verdict IS 'pass, fail or unclear.';
COMMENT ON COLUMN review_history.items IS
    'A JSON list of {"item", "verdict"}: met or not_met; items left out are absent.';
COMMENT ON COLUMN review_history.severity IS 'The severity observed, S0 to S3, if any.';
COMMENT ON COLUMN review_history.tags IS 'A JSON list.';
COMMENT ON COLUMN review_history.notes IS 'As a JSON string.';
COMMENT ON COLUMN review_history.blind IS
    'Whether the engine''s own verdict was hidden from the reviewer.';
COMMENT ON COLUMN review_history.file_sha256 IS
    'The digest of the file it was imported from; null where given at a terminal.';

COMMENT ON VIEW reviews IS 'What counts: the last review of each evaluation by each reviewer.';
COMMENT ON COLUMN reviews.evaluation_id IS 'The evaluation; see run_results.';
COMMENT ON COLUMN reviews.reviewer IS 'Who said so.';
COMMENT ON COLUMN reviews.run_id IS 'The run of the evaluation.';
COMMENT ON COLUMN reviews.reviewed_at IS 'When it was put on record.';
COMMENT ON COLUMN reviews.verdict IS 'pass, fail or unclear.';
COMMENT ON COLUMN reviews.items IS
    'A JSON list of {"item", "verdict"}: met or not_met; items left out are absent.';
COMMENT ON COLUMN reviews.severity IS 'The severity observed, S0 to S3, if any.';
COMMENT ON COLUMN reviews.tags IS 'A JSON list.';
COMMENT ON COLUMN reviews.notes IS 'As a JSON string.';
COMMENT ON COLUMN reviews.blind IS
    'Whether the engine''s own verdict was hidden from the reviewer.';
COMMENT ON COLUMN reviews.position IS 'The review''s position in the log.';
