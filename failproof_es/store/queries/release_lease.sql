SELECT failproof.release_lease(%(run_id)s, %(shard)s, %(epoch)s, %(finished)s)
