-- The counters that a list of runs shows, as one JSON object a row: rows of counts_of_runs, with the
-- groups and clusters of a model added up. Leaves out the same runs.
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
        run_id,
        model_key,
        '' AS suite_id,
        NULL AS category,
        NULL AS severity,
        sum(finished) AS finished,
        sum(scored) AS scored,
        sum(abandoned) AS abandoned,
        sum(awaiting) AS awaiting,
        sum(lost) AS lost,
        sum(cases) AS cases,
        sum(passed) AS passed,
        sum(failed) AS failed,
        sum(measured) AS measured,
        sum(accuracy_sum) AS accuracy_sum,
        NULL AS classes
    FROM projections.run_groups JOIN told USING (run_id)
    GROUP BY run_id, model_key
) AS g
UNION ALL
SELECT 'clusters', run_id, row_to_json(c)::text
FROM (
    SELECT run_id, model_key, '' AS suite_id, passed, judged, count(*) AS clusters
    FROM projections.run_clusters JOIN told USING (run_id)
    WHERE judged > 0
    GROUP BY run_id, model_key, passed, judged
) AS c
UNION ALL
SELECT 'asking', run_id, row_to_json(a)::text FROM projections.run_asking AS a JOIN told USING (run_id)
UNION ALL
SELECT 'usage', run_id, row_to_json(u)::text FROM projections.token_usage AS u JOIN told USING (run_id)
