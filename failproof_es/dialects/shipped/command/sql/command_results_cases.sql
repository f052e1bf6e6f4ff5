INSERT INTO command_cases (prompt_id, test_id, prompt, expected)
SELECT * FROM unnest(%s::uuid[], %s::text[], %s::json[], %s::json[])
ON CONFLICT (prompt_id) DO NOTHING
