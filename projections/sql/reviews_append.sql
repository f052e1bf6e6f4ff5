INSERT INTO review_history (
    position, evaluation_id, run_id, reviewer, reviewed_at, verdict, items, severity, tags,
    notes, blind, file_sha256, sheet, queue, seconds, adjudicates
)
SELECT * FROM unnest(
    %s::bigint[], %s::uuid[], %s::uuid[], %s::text[], %s::timestamptz[],
    %s::text[], %s::json[], %s::text[], %s::json[], %s::json[], %s::boolean[], %s::text[],
    %s::text[], %s::text[], %s::double precision[], %s::boolean[]
)
