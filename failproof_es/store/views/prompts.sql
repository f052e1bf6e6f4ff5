-- Specification 001 § 3.1.
CREATE OR REPLACE VIEW promptguard.prompts WITH (security_invoker = true) AS
SELECT DISTINCT ON (key)
    key,
    collection,
    prompt_id,
    category,
    expected_label,
    source,
    coalesce(document ->> 'created_at', stored_at) AS created_at,
    promptguard.closed(json_build_object(
        'prompt_id', prompt_id,
        'content', document -> 'content',
        'category', category,
        'expected_label', expected_label,
        'source', source,
        'created_at', coalesce(document ->> 'created_at', stored_at)
    )) AS document
FROM promptguard.stored_cases
ORDER BY key, position;

COMMENT ON VIEW promptguard.prompts IS
    'Every stored prompt (specification 001 § 3.1); one that was changed is another one.';
COMMENT ON COLUMN promptguard.prompts.key IS
    'SHA-256 of its collection, its source and what was stored of it.';
COMMENT ON COLUMN promptguard.prompts.collection IS
    'The collection it was imported into, or the file it was run from.';
COMMENT ON COLUMN promptguard.prompts.prompt_id IS 'Its id, unique in a run.';
COMMENT ON COLUMN promptguard.prompts.category IS 'Its category.';
COMMENT ON COLUMN promptguard.prompts.expected_label IS 'The label that people gave it.';
COMMENT ON COLUMN promptguard.prompts.source IS 'Where it comes from.';
COMMENT ON COLUMN promptguard.prompts.created_at IS
    'When it was created, as somebody wrote it; when it was recorded where nobody did.';
COMMENT ON COLUMN promptguard.prompts.document IS 'The whole of it, in the fields of § 3.1.';
