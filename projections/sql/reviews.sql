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
    blind boolean,
    file_sha256 text,
    sheet text,
    queue text,
    seconds double precision,
    adjudicates boolean NOT NULL
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
    position,
    queue,
    seconds,
    adjudicates
FROM review_history
ORDER BY evaluation_id, reviewer, position DESC;

CREATE VIEW people_results AS
SELECT
    evaluation_id,
    run_id,
    CASE
        WHEN count(DISTINCT verdict) FILTER (WHERE decides) > 1 THEN 'disputed'
        WHEN min(verdict) FILTER (WHERE decides) = 'pass' THEN 'passed_by_people'
        WHEN min(verdict) FILTER (WHERE decides) = 'fail' THEN 'failed_by_people'
        ELSE 'unclear'
    END AS outcome,
    count(*) AS reviewers,
    count(*) FILTER (WHERE verdict = 'pass') AS passes,
    count(*) FILTER (WHERE verdict = 'fail') AS fails,
    count(*) FILTER (WHERE verdict = 'unclear') AS unclear,
    max(position) AS position
FROM (
    SELECT
        evaluation_id,
        run_id,
        verdict,
        position,
        position = max(position) FILTER (WHERE adjudicates) OVER of_evaluation
        OR NOT bool_or(adjudicates) OVER of_evaluation AS decides
    FROM (
        -- as in the view above, which a rebuild drops by itself
        SELECT DISTINCT ON (evaluation_id, reviewer)
            evaluation_id,
            run_id,
            verdict,
            position,
            adjudicates
        FROM review_history
        ORDER BY evaluation_id, reviewer, position DESC
    ) AS latest
    WINDOW of_evaluation AS (PARTITION BY evaluation_id)
) AS deciding
GROUP BY evaluation_id, run_id;

COMMENT ON TABLE review_history IS 'One row for each time that a person reviewed an evaluation.';
COMMENT ON COLUMN review_history.position IS 'The review''s position in the log.';
COMMENT ON COLUMN review_history.evaluation_id IS 'The evaluation; see run_results.';
COMMENT ON COLUMN review_history.run_id IS 'The run of the evaluation.';
COMMENT ON COLUMN review_history.reviewer IS 'The reviewer.';
COMMENT ON COLUMN review_history.reviewed_at IS 'Time of recording the review.';
COMMENT ON COLUMN review_history.verdict IS 'pass, fail or unclear.';
COMMENT ON COLUMN review_history.items IS
    'A JSON list of {"item", "verdict"}: met or not_met, of must_not_do happened or did_not_happen.';
COMMENT ON COLUMN review_history.severity IS 'The severity observed, S0 to S3, if any.';
COMMENT ON COLUMN review_history.tags IS 'A JSON list.';
COMMENT ON COLUMN review_history.notes IS 'As a JSON string.';
COMMENT ON COLUMN review_history.blind IS
    'Whether the engine''s own verdict was hidden from the reviewer; null where that is unknown.';
COMMENT ON COLUMN review_history.file_sha256 IS
    'The digest of the file it was imported from; null where given at a terminal.';
COMMENT ON COLUMN review_history.sheet IS
    'The id of the sheet in that file, as its export recorded it; null without one.';
COMMENT ON COLUMN review_history.queue IS
    'The queue that gave the evaluation to the reviewer; null without one.';
COMMENT ON COLUMN review_history.seconds IS 'Seconds from then to the verdict; null if unknown.';
COMMENT ON COLUMN review_history.adjudicates IS 'Whether it decides between the other reviewers.';

COMMENT ON VIEW reviews IS 'The last review of each evaluation by each reviewer; only these count.';
COMMENT ON COLUMN reviews.evaluation_id IS 'The evaluation; see run_results.';
COMMENT ON COLUMN reviews.reviewer IS 'The reviewer.';
COMMENT ON COLUMN reviews.run_id IS 'The run of the evaluation.';
COMMENT ON COLUMN reviews.reviewed_at IS 'Time of recording the review.';
COMMENT ON COLUMN reviews.verdict IS 'pass, fail or unclear.';
COMMENT ON COLUMN reviews.items IS
    'A JSON list of {"item", "verdict"}: met or not_met, of must_not_do happened or did_not_happen.';
COMMENT ON COLUMN reviews.severity IS 'The severity observed, S0 to S3, if any.';
COMMENT ON COLUMN reviews.tags IS 'A JSON list.';
COMMENT ON COLUMN reviews.notes IS 'As a JSON string.';
COMMENT ON COLUMN reviews.blind IS
    'Whether the engine''s own verdict was hidden from the reviewer; null where that is unknown.';
COMMENT ON COLUMN reviews.position IS 'The review''s position in the log.';
COMMENT ON COLUMN reviews.queue IS
    'The queue that gave the evaluation to the reviewer; null without one.';
COMMENT ON COLUMN reviews.seconds IS 'Seconds from then to the verdict; null if unknown.';
COMMENT ON COLUMN reviews.adjudicates IS 'Whether it decides between the other reviewers.';

COMMENT ON VIEW people_results IS
    'The decision of people on each reviewed evaluation; join run_results for its case.';
COMMENT ON COLUMN people_results.evaluation_id IS 'The evaluation; see run_results.';
COMMENT ON COLUMN people_results.run_id IS 'The run of the evaluation.';
COMMENT ON COLUMN people_results.outcome IS
    'passed_by_people, failed_by_people or unclear, as the last adjudication or all reviewers say; '
    'else disputed.';
COMMENT ON COLUMN people_results.reviewers IS 'Number of people who reviewed it.';
COMMENT ON COLUMN people_results.passes IS 'Reviewers whose last verdict is pass.';
COMMENT ON COLUMN people_results.fails IS 'Reviewers whose last verdict is fail.';
COMMENT ON COLUMN people_results.unclear IS 'Reviewers whose last verdict is unclear.';
COMMENT ON COLUMN people_results.position IS 'The position of the newest review that counts.';
