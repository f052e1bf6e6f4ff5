-- Who holds something of a run now, or had it last, and for how many seconds more unless renewed.
SELECT holder, greatest(extract(epoch FROM expires_at - clock_timestamp())::float8, 0) AS left_s
FROM failproof.lease_list
WHERE run_id = %(run_id)s
ORDER BY expires_at DESC, shard
LIMIT 1
