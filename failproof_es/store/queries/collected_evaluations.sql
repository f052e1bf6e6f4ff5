SELECT to_json(evaluation_id)::text, document::text
FROM promptguard.evaluations
WHERE test_run_id = ANY (%(runs)b)
ORDER BY test_run_id, prompt_key, model_key, repetition
