-- Add a batch's counts to what stands.
INSERT INTO token_usage AS u (
    run_id, model_key, purpose, judge, model_answered, requests, answers_without_usage, input_tokens,
    output_tokens, cached_input_tokens
)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
ON CONFLICT (run_id, model_key, purpose, judge, model_answered) DO UPDATE SET
    requests = u.requests + excluded.requests,
    answers_without_usage = u.answers_without_usage + excluded.answers_without_usage,
    input_tokens = u.input_tokens + excluded.input_tokens,
    output_tokens = u.output_tokens + excluded.output_tokens,
    cached_input_tokens = u.cached_input_tokens + excluded.cached_input_tokens
