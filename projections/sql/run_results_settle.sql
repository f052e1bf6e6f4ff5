-- After a rebuild in shares, what `run_results_planned_late` and `run_results_changed_sources` say
-- of a batch, of the whole log up to a position. OFFSET 0: by its stream, and not along the log.
WITH odd AS (
    SELECT r.run_id
    FROM runs AS r
    JOIN (
        SELECT run_id, min(first_position) AS position FROM evaluations GROUP BY run_id
    ) AS begun USING (run_id)
    CROSS JOIN LATERAL (
        SELECT max(position) AS position
        FROM (
            SELECT notification_id AS position
            FROM failproof.stored_events
            WHERE originator_id = r.run_id
                AND topic = ANY (%(planning)s)
                AND notification_id <= %(position)s
            OFFSET 0
        ) AS planning
    ) AS planned
    WHERE begun.position < planned.position
    UNION ALL
    SELECT e.run_id
    FROM evaluations AS e
    JOIN evaluations AS source ON source.evaluation_id = e.source_evaluation_id
    WHERE source.last_position > e.first_position
)
UPDATE runs SET told = false WHERE run_id IN (SELECT run_id FROM odd)
