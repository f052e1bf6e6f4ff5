-- The other attempts of a run's experiment, or those before it, the newest first: which attempt
-- each is.
-- Asked as a range in the order of its index, so that no more rows are read than are wanted: as an
-- equation the planner may read every run there is in the order of run numbers.
SELECT others.run_id, others.place
FROM failproof.run_asked_list AS noted
CROSS JOIN LATERAL (
    SELECT listed.run_id, listed.run_number, listed.place
    FROM failproof.run_asked_list AS listed
    WHERE (listed.experiment, listed.run_number) <= (
            noted.experiment,
            CASE WHEN %(earlier)s THEN noted.run_number ELSE 9223372036854775807 END
        )
        AND listed.experiment >= noted.experiment
    ORDER BY listed.experiment DESC, listed.run_number DESC
    LIMIT %(most)s::bigint + 1
) AS others
WHERE noted.run_id = %(run)s AND others.run_number <> noted.run_number
ORDER BY others.run_number DESC
LIMIT %(most)s
