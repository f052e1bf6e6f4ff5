SELECT extract(epoch FROM clock_timestamp() - claimed_at)::double precision
FROM failproof.review_claim_list
WHERE run_id = %(run_id)s AND queue = %(queue)s AND evaluation_id = %(evaluation_id)s
    AND reviewer = %(reviewer)s
