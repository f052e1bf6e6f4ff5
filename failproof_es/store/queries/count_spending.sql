SELECT failproof.count_spending(
    %(run_id)s, %(shard)s, %(epoch)s, %(shards)s::integer[], %(known)s::numeric[],
    %(unknown)s::numeric[], %(requests)s::bigint[]
)
