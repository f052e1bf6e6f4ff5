-- Of these runs those that no process drives now: when the last lease ended, and whether workers may drive it.
SELECT l.run_id, max(l.expires_at), coalesce(bool_or(s.is_open), false)
FROM failproof.lease_list AS l
LEFT JOIN failproof.run_shard_list AS s USING (run_id)
WHERE l.run_id = ANY (%(runs)s)
GROUP BY l.run_id
HAVING max(l.expires_at) <= clock_timestamp()
