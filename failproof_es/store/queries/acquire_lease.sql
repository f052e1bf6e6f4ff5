SELECT failproof.acquire_lease(%(run_id)s, %(holder)s)
