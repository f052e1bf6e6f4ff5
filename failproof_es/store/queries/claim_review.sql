SELECT failproof.claim_review(
    %(run_id)s, %(queue)s, %(evaluation_id)s, %(reviewer)s, %(review_stream)s, %(seen)s,
    %(done_by)s::text[], %(places)s, %(seconds)s
)
