SELECT failproof.begin_budget(%(run_id)s, %(epoch)s::bigint, %(number)s::bigint, %(ceiling)s)
