SELECT to_json(test_run_id)::text, document::text
FROM promptguard.test_runs
WHERE test_run_id = ANY (%(runs)b)
ORDER BY run_number
