-- A claim of a provider key's limits that arrives late must not set its share back, nor make one that was given
-- back live again: each claim has a number, and a share that has ended is remembered for an hour.
ALTER TABLE failproof.limit_shares
ADD COLUMN claims bigint NOT NULL DEFAULT 0,
ADD COLUMN stated_concurrency integer,
ADD COLUMN stated_requests bigint,
ADD COLUMN stated_tokens bigint,
ADD CONSTRAINT limit_shares_stated_exist CHECK (
    stated_concurrency >= 0 AND stated_requests >= 0 AND stated_tokens >= 0
);
COMMENT ON COLUMN failproof.limit_shares.claims IS 'The number of the newest claim of its holder.';
COMMENT ON COLUMN failproof.limit_shares.stated_concurrency IS
    'The limit in its holder''s configuration. NULL: none. The lowest of all live shares holds for all.';
COMMENT ON COLUMN failproof.limit_shares.stated_requests IS 'The same for the requests of a minute.';
COMMENT ON COLUMN failproof.limit_shares.stated_tokens IS 'The same for the tokens of a minute.';

ALTER TABLE failproof.limit_uses
ADD CONSTRAINT limit_uses_amounts_exist CHECK (requests >= 0 AND tokens >= 0);

-- A ceiling is changed under the lease on the whole run, in the order of its holder.
ALTER TABLE failproof.run_budgets
ADD COLUMN epoch bigint NOT NULL DEFAULT 0,
ADD COLUMN changes bigint NOT NULL DEFAULT 0;
COMMENT ON COLUMN failproof.run_budgets.epoch IS
    'Under which epoch of the lease on the whole run the ceiling was set; 0: when it was planned.';
COMMENT ON COLUMN failproof.run_budgets.changes IS 'The number of the newest change under that epoch.';

-- NaN is greater than every number, and than infinity, too.
ALTER TABLE failproof.run_budgets
ADD CONSTRAINT run_budgets_ceiling_is_finite CHECK (ceiling_usd < 'Infinity');
ALTER TABLE failproof.shard_budgets
ADD CONSTRAINT shard_budgets_amounts_are_finite CHECK (
    known_usd < 'Infinity' AND unknown_usd < 'Infinity' AND reserved_usd < 'Infinity'
);

DROP FUNCTION IF EXISTS failproof.begin_budget(uuid, numeric);
DROP FUNCTION IF EXISTS failproof.share_limits(
    text, text, uuid, text, double precision, integer, bigint, bigint, integer, integer, bigint, bigint, bigint,
    bigint, bigint, bigint, boolean, double precision, boolean, boolean, boolean
);
