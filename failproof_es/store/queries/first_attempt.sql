-- The first run of an experiment that is noted as such.
SELECT run_id FROM failproof.run_asked_list WHERE experiment = %s ORDER BY run_number LIMIT 1
