INSERT INTO prompts (prompt_id, suite_id, case_id, category, label, severity, tags, position)
SELECT * FROM unnest(%s::uuid[], %b::text[], %b::text[], %b::text[], %b::text[], %b::text[],
                     %b::text[]::json[], %b::bigint[])
ON CONFLICT (prompt_id) DO NOTHING
