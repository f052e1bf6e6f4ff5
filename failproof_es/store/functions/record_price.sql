-- The first price recorded for a run's model stays.
CREATE OR REPLACE FUNCTION failproof.record_price(
    priced_run_id uuid,
    priced_model_key text,
    input_usd_per_million numeric,
    cached_input_usd_per_million numeric,
    output_usd_per_million numeric,
    price_version text
) RETURNS void
LANGUAGE sql
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
    INSERT INTO failproof.prices VALUES ($1, $2, $3, $4, $5, $6)
    ON CONFLICT DO NOTHING;
$$;
