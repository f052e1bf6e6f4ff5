-- The prices of a run are an event of it (PricesRecorded). What an answer cost is computed from
-- them by one function; runs that are older than the event keep the prices that stand beside.

CREATE INDEX events_prices_idx ON failproof.events (originator_id, originator_version)
WHERE topic = 'PricesRecorded';

-- US dollars for one answer: `model_prices` as PricesRecorded holds them of one model, `usage` as
-- ResponseReceived has it. NULL where a price or a count of tokens is not known, never 0 for
-- that. Python's failproof_es.costs.cost_usd says the same of every answer.
CREATE FUNCTION failproof.cost_usd(model_prices json, usage json, answered_at timestamptz)
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
REVOKE ALL ON FUNCTION failproof.cost_usd(json, json, timestamptz) FROM PUBLIC;

-- The prices that count for a run. The three columns of US dollars are those of its smallest
-- requests when it began; `prices` holds all rates. What is not known has no row.
CREATE OR REPLACE VIEW failproof.price_list AS
SELECT
    recorded.run_id,
    model.model_key,
    first.input AS input_usd_per_million,
    first.cached_input AS cached_input_usd_per_million,
    first.output AS output_usd_per_million,
    model.source AS price_version,
    listed.prices
FROM (
    -- A run records its prices once: what a writer might put behind counts for nothing. PostgreSQL
    -- has no text with NUL in it: the backslashes before u0000 are doubled, as in read models.
    SELECT DISTINCT ON (e.originator_id)
        e.originator_id AS run_id,
        CASE
            WHEN position('u0000'::bytea IN e.state) = 0 THEN convert_from(e.state, 'UTF8')
            ELSE regexp_replace(convert_from(e.state, 'UTF8'), '(\\+)u0000', '\1\1u0000', 'g')
        END::json AS payload
    FROM failproof.stored_events AS e
    WHERE e.topic = 'PricesRecorded'
    ORDER BY e.originator_id, e.originator_version
) AS recorded
CROSS JOIN LATERAL json_array_elements(recorded.payload -> 'models') AS listed (prices)
CROSS JOIN LATERAL json_to_record(listed.prices) AS model (
    model_key text, source text, rates json
)
CROSS JOIN LATERAL json_to_record(model.rates -> 0) AS first (
    input numeric, cached_input numeric, output numeric
)
WHERE json_array_length(model.rates) > 0
UNION ALL
SELECT
    p.run_id,
    p.model_key,
    p.input_usd_per_million,
    p.cached_input_usd_per_million,
    p.output_usd_per_million,
    p.price_version,
    json_build_object(
        'model_key', p.model_key,
        'source', p.price_version,
        'rates', json_build_array(json_build_object(
            'input', p.input_usd_per_million,
            'cached_input', coalesce(p.cached_input_usd_per_million, p.input_usd_per_million),
            'cache_write', p.input_usd_per_million,
            'cache_write_1h', p.input_usd_per_million,
            'output', p.output_usd_per_million,
            'request', 0
        ))
    )
FROM failproof.prices AS p
WHERE NOT EXISTS (
    SELECT FROM failproof.stored_events AS e
    WHERE e.originator_id = p.run_id AND e.topic = 'PricesRecorded'
);

DROP FUNCTION failproof.record_price(uuid, text, numeric, numeric, numeric, text);
