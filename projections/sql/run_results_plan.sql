INSERT INTO planned_cases (run_id, position, prompt_id)
SELECT %s, %s, planned.prompt_id FROM unnest(%s::uuid[]) AS planned (prompt_id)
ON CONFLICT (run_id, prompt_id) DO NOTHING
