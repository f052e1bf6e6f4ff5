-- What each run has used of each model. Money is never in an event: `cost` multiplies the
-- tokens by the dated prices that stand in `failproof.price_list` when it is read. Counts come
-- from whoever answered: numeric, because nothing bounds what a server claims.
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
    PRIMARY KEY (run_id, model_key, purpose, judge, model_answered)
);

-- Unknown stays unknown: no price, or an answer without a token count, gives NULL, never 0.
CREATE VIEW cost AS
SELECT
    u.*,
    CASE WHEN u.answers_without_usage = 0 THEN
        ((u.input_tokens - u.cached_input_tokens) * p.input_usd_per_million
            + u.cached_input_tokens * coalesce(p.cached_input_usd_per_million, p.input_usd_per_million)
            + u.output_tokens * p.output_usd_per_million) / 1000000
    END AS cost_usd,
    p.price_version
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
COMMENT ON COLUMN cost.cost_usd IS 'US dollars; null when a price or a token count is unknown.';
COMMENT ON COLUMN cost.price_version IS 'Which price data was used.';
