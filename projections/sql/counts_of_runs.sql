-- Every counter of these runs, as one JSON object a row, and the `messages` most frequent errors, or
-- all if that is NULL. Leaves out runs for which the tables disagree with the log, and runs with
-- unplaced events.
WITH told AS (
    SELECT run_id, impossible FROM projections.runs AS r
    WHERE run_id = ANY (%(runs)s) AND told AND NOT EXISTS (
        SELECT FROM projections.unplaced_events AS u
        WHERE u.run_id = r.run_id
            OR u.run_id IS NULL
            OR NOT EXISTS (SELECT FROM projections.runs AS other WHERE other.run_id = u.run_id)
    )
)
SELECT 'run' AS kind, run_id, row_to_json(t)::text FROM told AS t
UNION ALL
SELECT 'group', g.run_id, row_to_json(g)::text
FROM (
    SELECT
        g.*,
        (
            SELECT json_agg(json_build_array(c.class, c.evaluations))
            FROM projections.run_classes AS c
            WHERE c.run_id = g.run_id AND c.group_key = g.group_key
        ) AS classes
    FROM projections.run_groups AS g JOIN told USING (run_id)
) AS g
UNION ALL
SELECT 'asking', run_id, row_to_json(a)::text FROM projections.run_asking AS a JOIN told USING (run_id)
UNION ALL
SELECT 'usage', run_id, row_to_json(u)::text FROM projections.token_usage AS u JOIN told USING (run_id)
UNION ALL
SELECT 'error', e.run_id, row_to_json(e)::text
FROM told
CROSS JOIN LATERAL (
    SELECT * FROM projections.run_errors AS said
    WHERE said.run_id = told.run_id AND (%(messages)s::bigint IS NULL OR requests > 0)
    ORDER BY CASE WHEN %(messages)s::bigint IS NOT NULL THEN requests END DESC, error_key
    LIMIT %(messages)s::bigint
) AS e
UNION ALL
SELECT 'unscored', run_id, row_to_json(u)::text FROM projections.run_unscored AS u JOIN told USING (run_id)
UNION ALL
SELECT 'latency', run_id, row_to_json(l)::text
FROM projections.run_latencies AS l JOIN told USING (run_id)
UNION ALL
SELECT 'clusters', run_id, row_to_json(c)::text
FROM (
    SELECT run_id, model_key, suite_id, passed, judged, count(*) AS clusters
    FROM projections.run_clusters JOIN told USING (run_id)
    WHERE judged > 0
    GROUP BY run_id, model_key, suite_id, passed, judged
) AS c
