-- How many runs are noted as attempts of an experiment.
SELECT coalesce(sum(runs), 0)::bigint FROM failproof.asking_list WHERE experiment = %s
