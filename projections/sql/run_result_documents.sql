-- Specification 000 § 2: exactly what `failproof-es results RUN --format jsonl` prints, one row for
-- each evaluation that has begun. NUL is written as text on the way (failproof.readable), and goes
-- back to the letter in the document.
CREATE VIEW run_result_documents AS
WITH of_dialect AS MATERIALIZED (
    SELECT run_id FROM runs WHERE failproof.readable(run) #>> '{manifest,dialect}' = 'failproof'
)
SELECT
    result.case_id,
    result.suite_id,
    result.run_id,
    result.model_id,
    result.timestamp_utc,
    result.raw_response #>> '{}' AS raw_response,
    result.error #>> '{}' AS error,
    result.classification,
    result.scores,
    promptguard.closed(
        (
            SELECT json_object_agg(field.name, field.value ORDER BY field.place)
            FROM (
                VALUES
                    (1, 'case_id', to_json(result.case_id)),
                    (2, 'suite_id', to_json(result.suite_id)),
                    (3, 'run_id', to_json(result.run_id)),
                    (4, 'model_id', to_json(result.model_id)),
                    (5, 'timestamp_utc', to_json(result.timestamp_utc)),
                    (6, 'raw_response', result.raw_response),
                    (7, 'error', coalesce(result.error, 'null'::json)),
                    (8, 'classification', result.classification),
                    (9, 'scores', result.scores)
            ) AS field (place, name, value)
            WHERE field.value IS NOT NULL
        )
    ) AS document,
    result.evaluation_id
FROM (
    SELECT
        p.case_id,
        p.suite_id,
        e.run_id,
        e.model_key AS model_id,
        to_char(e.started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS')
            || CASE
                WHEN date_part('microseconds', e.started_at)::bigint % 1000000 = 0 THEN ''
                ELSE to_char(e.started_at, '.US')
            END
            || 'Z' AS timestamp_utc,
        failproof.readable(e.answer) AS raw_response,
        CASE
            WHEN e.error_message IS NOT NULL THEN failproof.readable(e.error_message)
            WHEN e.class = 'error' THEN failproof.readable(e.details) -> 'message'
        END AS error,
        CASE
            WHEN e.class IS NOT NULL
                THEN json_build_object(
                    'primary', e.class,
                    'details', failproof.readable(coalesce(e.details, '{}'::json))
                )
        END AS classification,
        CASE
            WHEN e.accuracy IS NOT NULL
                THEN (
                    SELECT
                        json_object_agg(
                            score.key,
                            CASE
                                WHEN score.key = 'accuracy' THEN to_json(e.accuracy::integer)
                                ELSE score.value
                            END
                        )
                    FROM json_each(failproof.readable(e.scores)) AS score
                )
        END AS scores,
        e.evaluation_id
    FROM of_dialect
    JOIN evaluations AS e USING (run_id)
    JOIN prompts AS p USING (prompt_id)
    WHERE e.started_at IS NOT NULL
) AS result;

COMMENT ON VIEW run_result_documents IS
    'The RunResult of specification 000 § 2 of each evaluation that has begun.';
COMMENT ON COLUMN run_result_documents.case_id IS 'The case.';
COMMENT ON COLUMN run_result_documents.suite_id IS 'Its suite.';
COMMENT ON COLUMN run_result_documents.run_id IS 'The run.';
COMMENT ON COLUMN run_result_documents.model_id IS 'The configured model that was asked.';
COMMENT ON COLUMN run_result_documents.timestamp_utc IS
    'Time of recording the first request, as ISO 8601.';
COMMENT ON COLUMN run_result_documents.raw_response IS
    'The reply, unmodified; a NUL is written as the text \u0000. Null without a reply.';
COMMENT ON COLUMN run_result_documents.error IS 'The error message; null where there was none.';
COMMENT ON COLUMN run_result_documents.classification IS
    'The primary class, and the details of the classifier.';
COMMENT ON COLUMN run_result_documents.scores IS
    'accuracy, 0 or 1, and the numbers of installed scorers; null without a score.';
COMMENT ON COLUMN run_result_documents.document IS
    'The whole result in the exact fields of § 2, without unknown fields.';
COMMENT ON COLUMN run_result_documents.evaluation_id IS 'The evaluation''s stream in the log.';
