-- US dollars for one answer: `model_prices` as PricesRecorded holds them of one model, `usage` as
-- ResponseReceived has it. NULL where a price or a count of tokens is not known, never 0 for
-- that. Python's failproof_es.core.costs.cost_usd says the same of every answer.
CREATE OR REPLACE FUNCTION failproof.cost_usd(model_prices json, usage json, answered_at timestamptz)
RETURNS numeric
LANGUAGE sql
IMMUTABLE
STRICT
PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT CASE
        WHEN used.fresh < 0 OR used.written < 0 OR used.output_tokens IS NULL THEN NULL
        ELSE trim_scale(
            rate.request + 0.000001 * (
                CASE WHEN used.fresh = 0 THEN 0 ELSE used.fresh * rate.input END
                + CASE WHEN used.cached = 0 THEN 0 ELSE used.cached * rate.cached_input END
                + CASE WHEN used.written = 0 THEN 0 ELSE used.written * rate.cache_write END
                + CASE
                    WHEN used.written_1h = 0 THEN 0 ELSE used.written_1h * rate.cache_write_1h
                END
                + CASE WHEN used.output_tokens = 0 THEN 0 ELSE used.output_tokens * rate.output END
            )
        )
    END
    FROM (
        SELECT
            u.input_tokens,
            u.output_tokens,
            u.input_tokens - coalesce(u.cached_input_tokens, 0)
            - coalesce(u.cache_write_tokens, 0) AS fresh,
            coalesce(u.cached_input_tokens, 0) AS cached,
            coalesce(u.cache_write_tokens, 0) - coalesce(u.cache_write_1h_tokens, 0) AS written,
            coalesce(u.cache_write_1h_tokens, 0) AS written_1h
        FROM json_to_record(usage) AS u (
            input_tokens numeric,
            output_tokens numeric,
            cached_input_tokens numeric,
            cache_write_tokens numeric,
            cache_write_1h_tokens numeric
        )
    ) AS used
    CROSS JOIN LATERAL (
        -- Of the rates that hold the last one counts.
        SELECT r.*
        FROM json_array_elements(model_prices -> 'rates') WITH ORDINALITY AS listed (rate, place)
        CROSS JOIN LATERAL json_to_record(listed.rate) AS r (
            since date,
            daily_from time,
            daily_until time,
            over_input_tokens numeric,
            input numeric,
            cached_input numeric,
            cache_write numeric,
            cache_write_1h numeric,
            output numeric,
            request numeric
        )
        WHERE (r.since IS NULL OR (answered_at AT TIME ZONE 'UTC')::date >= r.since)
            AND (r.daily_from IS NULL OR (answered_at AT TIME ZONE 'UTC')::time >= r.daily_from)
            AND (r.daily_until IS NULL OR (answered_at AT TIME ZONE 'UTC')::time < r.daily_until)
            AND (r.over_input_tokens IS NULL OR used.input_tokens > r.over_input_tokens)
        ORDER BY listed.place DESC
        LIMIT 1
    ) AS rate;
$$;
