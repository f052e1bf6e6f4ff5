SELECT
    granted_concurrency,
    granted_requests,
    granted_tokens,
    fair_concurrency,
    held_s,
    present_cuts,
    answered_s
FROM failproof.share_limits(
    %(key)s, %(server)s, %(own)s, %(holder)s, %(seconds)s::float8,
    %(most_concurrency)s::integer, %(most_requests)s::bigint, %(most_tokens)s::bigint,
    %(keeps_concurrency)s::integer, %(wants_concurrency)s::integer,
    %(keeps_requests)s::bigint, %(wants_requests)s::bigint, %(used_requests)s::bigint,
    %(keeps_tokens)s::bigint, %(wants_tokens)s::bigint, %(used_tokens)s::bigint,
    %(waits)s, %(hold_s)s::float8, %(was_cut)s, %(was_refused)s, %(was_answered)s
)
