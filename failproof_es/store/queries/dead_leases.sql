SELECT dead_run_id, dead_shard, dead_epoch
FROM failproof.dead_leases(%(runs)s::uuid[])
