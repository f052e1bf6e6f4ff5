UPDATE command_results r
SET passed = n.scored AND r.agreed,
    reason = coalesce(n.reason, r.reason),
    finished_at = n.finished_at
FROM unnest(%s::uuid[], %s::boolean[], %s::json[], %s::timestamptz[])
    AS n (evaluation_id, scored, reason, finished_at)
WHERE r.evaluation_id = n.evaluation_id
