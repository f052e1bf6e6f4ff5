-- The other attempts of a run's experiment, the newest first: which attempt each is.
SELECT others.run_id, others.place
FROM failproof.run_asked_list AS noted
JOIN failproof.run_asked_list AS others
    ON others.experiment = noted.experiment AND others.run_number <> noted.run_number
WHERE noted.run_id = %(run)s
ORDER BY others.run_number DESC
LIMIT %(most)s
