-- The prices of a run are an event of it (PricesRecorded). What an answer cost is computed from
-- them by one function; runs that are older than the event keep the prices that stand beside.

CREATE INDEX events_prices_idx ON failproof.events (originator_id, originator_version)
WHERE topic = 'PricesRecorded';

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
