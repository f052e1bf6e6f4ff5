-- Every question that was ever stored. One prompt gives several, where it was asked with
-- several templates: they have the same key. What is looked for in the bytes is what makes
-- events_promptguard_idx, and true of every case of the dialect.
CREATE OR REPLACE VIEW promptguard.stored_cases WITH (security_invoker = true) AS
SELECT
    e.stream_id,
    e.position,
    e.payload ->> 'timestamp' AS stored_at,
    c.suite_id AS collection,
    c.case_id AS prompt_id,
    c.category,
    c.label AS expected_label,
    c.source,
    c.turns,
    c.document,
    encode(
        sha256(convert_to(json_build_array(c.suite_id, c.source, c.document)::text, 'UTF8')), 'hex'
    ) AS key
FROM promptguard.opened_events AS e
CROSS JOIN LATERAL json_to_record(e.payload -> 'case') AS c (
    dialect text, case_id text, suite_id text, turns json, category text, label text,
    source text, document json
)
WHERE e.topic = 'PromptStored'
    AND (
        position('promptguard'::bytea IN e.state) > 0 OR position('\\u00'::bytea IN e.state) > 0
    )
    AND c.dialect = 'promptguard';

COMMENT ON VIEW promptguard.stored_cases IS 'What the collections are made of. Read those.';
