-- Of the evaluations of these runs that were left to people and that somebody reviewed: how many
-- there are of each set of last words. Each is looked up by itself: of those that nobody reviewed
-- none is read.
WITH latest AS MATERIALIZED (
    SELECT DISTINCT ON (run_id, evaluation_id, reviewer)
        run_id,
        evaluation_id,
        verdict,
        position,
        adjudicates
    FROM projections.review_history
    WHERE run_id = ANY (%s)
    ORDER BY run_id, evaluation_id, reviewer, position DESC
), said AS MATERIALIZED (
    SELECT
        run_id,
        evaluation_id,
        CASE
            WHEN bool_or(adjudicates)
                THEN (array_agg(verdict ORDER BY position DESC) FILTER (WHERE adjudicates))[1:1]
            ELSE array_agg(DISTINCT verdict ORDER BY verdict)
        END AS verdicts
    FROM latest
    GROUP BY run_id, evaluation_id
)
SELECT said.run_id, said.verdicts, count(*)
FROM said
CROSS JOIN LATERAL (
    SELECT FROM projections.evaluations AS e
    WHERE e.evaluation_id = said.evaluation_id AND e.run_id = said.run_id
        AND e.awaiting_review AND e.counted
    OFFSET 0
) AS left_to_people
GROUP BY said.run_id, said.verdicts
