-- The dated prices that a run's costs are computed with. Not part of the log: usage is.
CREATE TABLE failproof.prices (
    run_id uuid NOT NULL,
    model_key text NOT NULL,
    input_usd_per_million numeric,
    cached_input_usd_per_million numeric,
    output_usd_per_million numeric,
    price_version text NOT NULL,
    PRIMARY KEY (run_id, model_key)
);
