SELECT failproof.release_review(%(run_id)s, %(queue)s, %(evaluation_id)s, %(reviewer)s)
