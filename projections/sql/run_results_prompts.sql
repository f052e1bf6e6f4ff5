INSERT INTO prompts (prompt_id, suite_id, case_id, category, label, severity, tags, position)
SELECT * FROM unnest(%s::uuid[], %s::text[], %s::text[], %s::text[], %s::text[], %s::text[],
                     %s::json[], %s::bigint[])
ON CONFLICT (prompt_id) DO NOTHING
