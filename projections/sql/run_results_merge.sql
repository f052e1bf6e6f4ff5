-- Take a batch in, each column so that any batching gives the same row: the first value is
-- kept, counts are added, and what one event says together is replaced together. With a
-- response come its finish reason and its model, also where they are null.
INSERT INTO evaluations AS e (
    evaluation_id, run_id, prompt_id, model_key, repetition, started_at, last_position, status,
    attempts, retries, lost_attempts, response, finish_reason, model_answered, input_tokens,
    output_tokens, latency_ms, error_kind, error_message, error_position, primary_class,
    details, scores, accuracy, finished_at
)
SELECT
    evaluation_id, run_id, prompt_id, model_key, repetition, started_at, last_position, status,
    attempts, retries, lost_attempts, response, finish_reason, model_answered, input_tokens,
    output_tokens, latency_us * 0.001, error_kind, error_message, error_position, primary_class,
    details, scores, accuracy, finished_at
FROM incoming_evaluations
ON CONFLICT (evaluation_id) DO UPDATE SET
    last_position = excluded.last_position,
    status = CASE WHEN excluded.status = 'running' THEN e.status ELSE excluded.status END,
    attempts = e.attempts + excluded.attempts,
    retries = e.retries + excluded.retries,
    lost_attempts = e.lost_attempts + excluded.lost_attempts,
    response = coalesce(excluded.response, e.response),
    finish_reason = CASE
        WHEN excluded.response IS NULL THEN e.finish_reason ELSE excluded.finish_reason
    END,
    model_answered = CASE
        WHEN excluded.response IS NULL THEN e.model_answered ELSE excluded.model_answered
    END,
    input_tokens = coalesce(e.input_tokens + excluded.input_tokens,
                            e.input_tokens, excluded.input_tokens),
    output_tokens = coalesce(e.output_tokens + excluded.output_tokens,
                             e.output_tokens, excluded.output_tokens),
    latency_ms = coalesce(e.latency_ms + excluded.latency_ms, e.latency_ms, excluded.latency_ms),
    error_kind = CASE
        WHEN excluded.error_position IS NULL THEN e.error_kind ELSE excluded.error_kind
    END,
    error_message = CASE
        WHEN excluded.error_position IS NULL THEN e.error_message ELSE excluded.error_message
    END,
    error_position = coalesce(excluded.error_position, e.error_position),
    primary_class = coalesce(excluded.primary_class, e.primary_class),
    details = CASE WHEN excluded.primary_class IS NULL THEN e.details ELSE excluded.details END,
    scores = coalesce(excluded.scores, e.scores),
    accuracy = CASE WHEN excluded.scores IS NULL THEN e.accuracy ELSE excluded.accuracy END,
    finished_at = coalesce(excluded.finished_at, e.finished_at)
