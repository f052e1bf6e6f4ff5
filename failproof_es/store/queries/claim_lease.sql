SELECT failproof.claim_lease(
    %(run_id)s, %(shard)s, %(holder)s, %(seconds)s, %(session)s, %(alone)s, %(after_epoch)s
)
