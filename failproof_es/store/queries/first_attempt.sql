-- The first run of an experiment that is noted as such; asked as a range, as in attempts_of_run.
SELECT run_id
FROM failproof.run_asked_list
WHERE (experiment, run_number) >= (%(experiment)s, 0) AND experiment <= %(experiment)s
ORDER BY experiment, run_number
LIMIT 1
