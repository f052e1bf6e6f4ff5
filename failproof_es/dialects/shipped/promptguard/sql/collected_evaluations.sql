SELECT to_json(evaluation_id)::text, document::text
FROM promptguard.evaluations
WHERE test_run_id = ANY (%(runs)b)
ORDER BY position
