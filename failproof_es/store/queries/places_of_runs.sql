-- Which attempt of how many these runs are.
SELECT
    noted.run_id,
    noted.place,
    (
        SELECT sum(same.runs)::bigint
        FROM failproof.asking_list AS same
        WHERE same.experiment = noted.experiment
    )
FROM failproof.run_asked_list AS noted
WHERE noted.run_id = ANY (%s) AND noted.asking_id IS NOT NULL
