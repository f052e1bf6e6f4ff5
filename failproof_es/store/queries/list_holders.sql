-- Who holds a lease of which run now.
SELECT run_id, array_agg(DISTINCT holder ORDER BY holder)
FROM failproof.lease_list
WHERE expires_at > clock_timestamp()
GROUP BY run_id
