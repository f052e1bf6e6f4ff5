-- The shards of a run for which something is reserved.
SELECT shard FROM failproof.shard_budget_list
WHERE run_id = %(run_id)s AND reserved_usd > 0
ORDER BY shard
