-- Run numbers are dense: one is taken in the transaction that records RunStarted.
CREATE TABLE failproof.run_numbers (
    run_number bigint PRIMARY KEY,
    run_id uuid NOT NULL UNIQUE
);

CREATE VIEW failproof.run_list WITH (security_invoker = true) AS SELECT run_number, run_id FROM failproof.run_numbers;

-- The prices that count for a run. The three columns of US dollars are those of its smallest
-- requests when it began; `prices` holds all rates. What is not known has no row.
CREATE VIEW failproof.price_list WITH (security_invoker = true) AS
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
WHERE json_array_length(model.rates) > 0;
