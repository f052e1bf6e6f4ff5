-- Specification 001 § 3.2: what `failproof-es results` prints, from the same events. What an
-- evaluation that was carried over says is read where it was said, in the stream it names.
-- Only runs of the dialect are looked through: what begins a run says it. OFFSET 0 keeps the
-- planner from looking through the whole log instead.
CREATE OR REPLACE VIEW promptguard.evaluations WITH (security_invoker = true) AS
SELECT
    begun.stream_id AS evaluation_id,
    started.stream_id AS test_run_id,
    stored.key AS prompt_key,
    stored.prompt_id,
    stored.category,
    stored.expected_label,
    begins.model_key,
    begins.repetition,
    begins.source_evaluation_id AS carried_over_from,
    coalesce(ended.status, 'unfinished') AS status,
    graded.label,
    promptguard.closed(json_build_object(
        'evaluation_id', begun.stream_id,
        'test_run_id', started.stream_id,
        'prompt_id', stored.prompt_id,
        'model', coalesce(nullif(answered.model, ''), asked.model),
        'timestamp', CASE
            WHEN begins.source_evaluation_id IS NULL THEN begins."timestamp"
            ELSE (
                SELECT first.payload ->> 'timestamp'
                FROM promptguard.opened_events AS first
                WHERE first.stream_id = told.stream_id AND first.version = 1
            )
        END,
        'request', json_build_object(
            'full_prompt', CASE
                WHEN template."user" IS NULL THEN stored.turns -> 0 -> 'content'
                ELSE to_json(concat_ws(
                    E'\n\n',
                    template.system,
                    replace(template."user", '{prompt}', stored.turns -> 0 ->> 'content')
                ))
            END,
            'temperature', asked.parameters -> 'temperature',
            'max_tokens', asked.parameters -> 'max_tokens'
        ),
        'response', json_build_object(
            'raw', CASE
                WHEN answered.times = 0 THEN promptguard.body_text(failed.body, failed.body_encoding)
                ELSE promptguard.body_text(answered.body, answered.body_encoding)
            END,
            'parsed', graded.verdict,
            'error', coalesce(failed.message, ended.reason)
        ),
        'metrics', json_build_object(
            'latency_ms', answered.latency_ms,
            'tokens_used', answered.tokens,
            'cost_usd', answered.cost_usd
        )
    )) AS document,
    begun.position
FROM promptguard.opened_events AS started
CROSS JOIN LATERAL (
    SELECT
        e.notification_id AS position,
        e.originator_id AS stream_id,
        e.state
    FROM failproof.stored_events AS e
    WHERE e.run_id = started.stream_id
        AND e.originator_version = 1
        AND e.topic IN ('RequestSent', 'CarriedOver')
    OFFSET 0
) AS begun
CROSS JOIN LATERAL json_to_record(promptguard.opened(begun.state)) AS begins (
    prompt_id uuid, model_key text, repetition integer, "timestamp" text,
    source_evaluation_id uuid
)
CROSS JOIN LATERAL (
    SELECT coalesce(begins.source_evaluation_id, begun.stream_id) AS stream_id
) AS told
JOIN promptguard.stored_cases AS stored ON stored.stream_id = begins.prompt_id
CROSS JOIN LATERAL (
    SELECT
        r.model,
        r.parameters
    FROM promptguard.opened_events AS e
    CROSS JOIN LATERAL json_to_record(e.payload) AS r (purpose text, model text, parameters json)
    WHERE e.stream_id = told.stream_id AND e.topic = 'RequestSent' AND r.purpose = 'target'
    ORDER BY e.version DESC
    LIMIT 1
) AS asked
-- The template around the prompt, if the model has one: `apply_template` in
-- `failproof_es/configuration/prompt_template.py`.
LEFT JOIN LATERAL (
    SELECT
        t.system,
        t."user"
    FROM json_to_recordset(started.payload -> 'models') AS m (key text, parameters json)
    CROSS JOIN LATERAL json_to_record(m.parameters -> 'prompt_template') AS t (
        system text, "user" text
    )
    WHERE m.key = begins.model_key
) AS template ON true
-- What the answers come to; the last one counts. One whose cost is not known makes the sum NULL.
CROSS JOIN LATERAL (
    SELECT
        count(*) AS times,
        (array_agg(r.body ORDER BY e.version DESC))[1] AS body,
        (array_agg(r.body_encoding ORDER BY e.version DESC))[1] AS body_encoding,
        (array_agg(r.model ORDER BY e.version DESC))[1] AS model,
        round(sum(r.latency_ms))::bigint AS latency_ms,
        CASE WHEN count(u.input_tokens) + count(u.output_tokens) > 0 THEN
            coalesce(sum(u.input_tokens), 0) + coalesce(sum(u.output_tokens), 0)
        END AS tokens,
        CASE WHEN count(*) = count(c.cost_usd) THEN sum(c.cost_usd) END AS cost_usd
    FROM promptguard.opened_events AS e
    CROSS JOIN LATERAL json_to_record(e.payload) AS r (
        purpose text, body text, body_encoding text, model text, latency_ms double precision,
        usage json, "timestamp" timestamptz
    )
    CROSS JOIN LATERAL json_to_record(r.usage) AS u (input_tokens numeric, output_tokens numeric)
    LEFT JOIN failproof.price_list AS p
        ON p.run_id = started.stream_id AND p.model_key = begins.model_key
    CROSS JOIN LATERAL (
        SELECT failproof.cost_usd(p.prices, r.usage, r."timestamp") AS cost_usd
    ) AS c
    WHERE e.stream_id = told.stream_id AND e.topic = 'ResponseReceived' AND r.purpose = 'target'
) AS answered
-- An error that no later answer made good.
LEFT JOIN LATERAL (
    SELECT
        r.body,
        r.body_encoding,
        r.kind || ': ' || r.message || coalesce(E'\n\n' || nullif(r.stack_trace, ''), '') AS message
    FROM promptguard.opened_events AS e
    CROSS JOIN LATERAL json_to_record(e.payload) AS r (
        kind text, message text, stack_trace text, body text, body_encoding text
    )
    WHERE e.stream_id = told.stream_id
        AND e.topic = 'ErrorRecorded'
        AND NOT EXISTS (
            SELECT FROM failproof.stored_events AS later
            WHERE later.originator_id = told.stream_id
                AND later.originator_version > e.version
                AND later.topic = 'ResponseReceived'
        )
    ORDER BY e.version DESC
    LIMIT 1
) AS failed ON true
LEFT JOIN LATERAL (
    SELECT
        r."primary" AS label,
        CASE WHEN r.details -> 'T' IS NOT NULL THEN
            json_build_object(
                'T', r.details -> 'T',
                'I', r.details -> 'I',
                'F', r.details -> 'F',
                'reasoning', r.details -> 'reasoning'
            )
        END AS verdict
    FROM promptguard.opened_events AS e
    CROSS JOIN LATERAL json_to_record(e.payload) AS r ("primary" text, details json)
    WHERE e.stream_id = told.stream_id AND e.topic = 'Classified'
    ORDER BY e.version DESC
    LIMIT 1
) AS graded ON true
LEFT JOIN LATERAL (
    SELECT
        CASE e.topic WHEN 'Scored' THEN 'scored' ELSE 'abandoned' END AS status,
        CASE e.topic WHEN 'EvaluationAbandoned' THEN r.kind || ': ' || r.reason END AS reason
    FROM promptguard.opened_events AS e
    CROSS JOIN LATERAL json_to_record(e.payload) AS r (kind text, reason text)
    WHERE e.stream_id = told.stream_id AND e.topic IN ('Scored', 'EvaluationAbandoned')
    LIMIT 1
) AS ended ON true
WHERE started.topic = 'RunStarted'
    AND started.version = 1
    AND started.payload ->> 'dialect' = 'promptguard';

COMMENT ON VIEW promptguard.evaluations IS
    'Every evaluation of a stored prompt that has begun (specification 001 § 3.2).';
COMMENT ON COLUMN promptguard.evaluations.evaluation_id IS 'The evaluation''s stream in the log.';
COMMENT ON COLUMN promptguard.evaluations.test_run_id IS 'The run.';
COMMENT ON COLUMN promptguard.evaluations.prompt_key IS 'The prompt; see promptguard.prompts.';
COMMENT ON COLUMN promptguard.evaluations.prompt_id IS 'The prompt''s own id.';
COMMENT ON COLUMN promptguard.evaluations.category IS 'The prompt''s category.';
COMMENT ON COLUMN promptguard.evaluations.expected_label IS 'The label that people gave it.';
COMMENT ON COLUMN promptguard.evaluations.model_key IS 'The configured model that was asked.';
COMMENT ON COLUMN promptguard.evaluations.repetition IS 'Which repetition, from 1.';
COMMENT ON COLUMN promptguard.evaluations.carried_over_from IS
    'The evaluation whose events are told here, in a run that was branched; else null.';
COMMENT ON COLUMN promptguard.evaluations.status IS 'running, scored or abandoned.';
COMMENT ON COLUMN promptguard.evaluations.label IS
    'The label of the verdict, or why there is none: error, refusal, parse_error, empty.';
COMMENT ON COLUMN promptguard.evaluations.document IS 'The whole of it, in the fields of § 3.2.';
COMMENT ON COLUMN promptguard.evaluations.position IS 'Where in the log it begins.';
