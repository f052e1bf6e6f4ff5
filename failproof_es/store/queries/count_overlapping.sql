-- How many runs asked one of these sets of cases of one of these models, in another experiment.
SELECT coalesce(sum(runs), 0)::bigint
FROM failproof.asking_list
WHERE set_id = ANY (%s) AND experiment <> %s AND models && %s::text[]
