-- What each run has used of each model, and what its answers cost: each one by its own usage, at
-- the prices of its run (`failproof.cost_usd`). Counts come from whoever answered: numeric,
-- because nothing bounds what a server claims.
CREATE TABLE token_usage (
    run_id uuid NOT NULL,
    model_key text NOT NULL,
    purpose text NOT NULL,
    judge text NOT NULL,
    model_answered text NOT NULL,
    requests bigint NOT NULL DEFAULT 0,
    answers_without_usage bigint NOT NULL DEFAULT 0,
    input_tokens numeric NOT NULL DEFAULT 0,
    output_tokens numeric NOT NULL DEFAULT 0,
    cached_input_tokens numeric NOT NULL DEFAULT 0,
    cache_write_tokens numeric NOT NULL DEFAULT 0,
    answers_priced bigint NOT NULL DEFAULT 0,
    priced_usd numeric NOT NULL DEFAULT 0,
    PRIMARY KEY (run_id, model_key, purpose, judge, model_answered)
);

-- One answer whose cost is not known makes the sum NULL: a part is not the whole.
CREATE VIEW cost AS
SELECT
    u.run_id,
    u.model_key,
    u.purpose,
    u.judge,
    u.model_answered,
    u.requests,
    u.answers_without_usage,
    u.input_tokens,
    u.output_tokens,
    u.cached_input_tokens,
    CASE WHEN u.answers_priced = u.requests THEN trim_scale(u.priced_usd) END AS cost_usd,
    p.price_version,
    u.cache_write_tokens
FROM token_usage u
LEFT JOIN failproof.price_list p
    ON p.run_id = u.run_id AND p.model_key = coalesce(nullif(u.judge, ''), u.model_key);

COMMENT ON TABLE token_usage IS 'The counts that cost is made of. Read that.';

COMMENT ON VIEW cost IS
    'What each run used of each model, and what that costs; not what it carried over.';
COMMENT ON COLUMN cost.run_id IS 'The run.';
COMMENT ON COLUMN cost.model_key IS 'The configured model that is evaluated.';
COMMENT ON COLUMN cost.purpose IS 'target or judge.';
COMMENT ON COLUMN cost.judge IS 'The judge that answered; empty for the model under test.';
COMMENT ON COLUMN cost.model_answered IS 'The model as it named itself; empty when it did not.';
COMMENT ON COLUMN cost.requests IS 'Answers counted.';
COMMENT ON COLUMN cost.answers_without_usage IS 'Those of them that did not say their tokens.';
COMMENT ON COLUMN cost.input_tokens IS 'Tokens read.';
COMMENT ON COLUMN cost.output_tokens IS 'Tokens written.';
COMMENT ON COLUMN cost.cached_input_tokens IS 'Those of the tokens read that came from a cache.';
COMMENT ON COLUMN cost.cost_usd IS
    'US dollars, each answer by its own usage; null when a price or a token count is unknown.';
COMMENT ON COLUMN cost.price_version IS 'Which price data was used.';
COMMENT ON COLUMN cost.cache_write_tokens IS
    'Those of the tokens read that were written to a cache.';
