SELECT renewed_run_id, renewed_shard
FROM failproof.renew_leases(
    %(run_ids)s::uuid[], %(shards)s::integer[], %(epochs)s::bigint[], %(seconds)s, %(session)s
)
