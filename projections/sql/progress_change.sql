UPDATE runs SET status = %s, reason = %s, ended_at = %s WHERE run_id = %s
