SELECT
    granted_concurrency,
    granted_requests,
    granted_tokens,
    fair_concurrency,
    held_s,
    present_cuts,
    answered_s,
    most_concurrency,
    most_requests,
    most_tokens
FROM failproof.share_limits(
    %(key)s, %(server)s, %(own)s, %(holder)s, %(number)s::bigint, %(seconds)s::float8,
    %(own_concurrency)s::integer, %(own_requests)s::bigint, %(own_tokens)s::bigint,
    %(keeps_concurrency)s::integer, %(wants_concurrency)s::integer,
    %(keeps_requests)s::bigint, %(wants_requests)s::bigint, %(used_requests)s::bigint,
    %(keeps_tokens)s::bigint, %(wants_tokens)s::bigint, %(used_tokens)s::bigint,
    %(waits)s, %(hold_s)s::float8, %(was_cut)s, %(was_refused)s, %(was_answered)s
)
