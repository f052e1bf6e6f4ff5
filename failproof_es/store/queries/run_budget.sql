SELECT ceiling_usd FROM failproof.run_budget_list WHERE run_id = %(run_id)s
