SELECT * FROM failproof.reserve_spending(
    %(run_id)s, %(shard)s, %(epoch)s, %(known)s, %(unknown)s, %(requests)s, %(keeps)s, %(needs)s,
    %(wants)s, %(number)s
)
