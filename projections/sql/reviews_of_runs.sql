-- What people said last of the evaluations of these runs that were left to them.
SELECT DISTINCT ON (h.evaluation_id, h.reviewer) e.run_id, h.evaluation_id, h.reviewer, h.verdict
FROM projections.review_history AS h
JOIN projections.evaluations AS e USING (evaluation_id)
WHERE h.run_id = ANY (%s) AND e.run_id = h.run_id AND e.awaiting_review AND e.counted
ORDER BY h.evaluation_id, h.reviewer, h.position DESC
