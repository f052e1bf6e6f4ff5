SELECT to_json(key)::text, document::text
FROM promptguard.model_configs
WHERE test_run_id = ANY (%(runs)b)
ORDER BY key
