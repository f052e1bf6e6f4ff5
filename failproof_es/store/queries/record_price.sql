INSERT INTO failproof.prices (
    run_id,
    model_key,
    input_usd_per_million,
    cached_input_usd_per_million,
    output_usd_per_million,
    price_version
)
VALUES (%s, %s, %s, %s, %s, %s)
ON CONFLICT (run_id, model_key) DO NOTHING
