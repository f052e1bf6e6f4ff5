-- Every prompt that one of these streams holds.
SELECT to_json(key)::text, document::text
FROM promptguard.prompts
WHERE key IN (SELECT key FROM promptguard.stored_cases WHERE stream_id = ANY (%(prompts)b))
ORDER BY key
