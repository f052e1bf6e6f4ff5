SELECT failproof.begin_budget(%(run_id)s, %(ceiling)s)
