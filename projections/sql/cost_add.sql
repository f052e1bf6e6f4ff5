-- Add a batch of answers to what stands, each at the prices of its run.
INSERT INTO token_usage AS u (
    run_id, model_key, purpose, judge, model_answered, requests, answers_without_usage, input_tokens,
    output_tokens, cached_input_tokens, cache_write_tokens, answers_priced, priced_usd
)
SELECT
    a.run_id,
    a.model_key,
    a.purpose,
    a.judge,
    a.model_answered,
    count(*),
    count(*) FILTER (WHERE t.input_tokens IS NULL OR t.output_tokens IS NULL),
    coalesce(sum(t.input_tokens), 0),
    coalesce(sum(t.output_tokens), 0),
    coalesce(sum(t.cached_input_tokens), 0),
    coalesce(sum(t.cache_write_tokens), 0),
    count(c.cost_usd),
    coalesce(sum(c.cost_usd), 0)
FROM unnest(
    %s::uuid[], %s::text[], %s::text[], %s::text[], %s::text[], %s::json[], %s::timestamptz[]
) AS a (run_id, model_key, purpose, judge, model_answered, usage, answered_at)
CROSS JOIN LATERAL json_to_record(a.usage) AS t (
    input_tokens numeric, output_tokens numeric, cached_input_tokens numeric, cache_write_tokens numeric
)
LEFT JOIN failproof.price_list AS p
    ON p.run_id = a.run_id AND p.model_key = coalesce(nullif(a.judge, ''), a.model_key)
CROSS JOIN LATERAL (
    SELECT failproof.cost_usd(p.prices, a.usage, a.answered_at) AS cost_usd
) AS c
GROUP BY a.run_id, a.model_key, a.purpose, a.judge, a.model_answered
ON CONFLICT (run_id, model_key, purpose, judge, model_answered) DO UPDATE SET
    requests = u.requests + excluded.requests,
    answers_without_usage = u.answers_without_usage + excluded.answers_without_usage,
    input_tokens = u.input_tokens + excluded.input_tokens,
    output_tokens = u.output_tokens + excluded.output_tokens,
    cached_input_tokens = u.cached_input_tokens + excluded.cached_input_tokens,
    cache_write_tokens = u.cache_write_tokens + excluded.cache_write_tokens,
    answers_priced = u.answers_priced + excluded.answers_priced,
    priced_usd = u.priced_usd + excluded.priced_usd
