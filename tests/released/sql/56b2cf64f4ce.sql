-- A statement of a connection that was cut may arrive after those that followed it. What it says of a shard's
-- budget is old by then: each report has a number, and the newest one counts.
ALTER TABLE failproof.shard_budgets
ADD COLUMN epoch bigint NOT NULL DEFAULT 0,
ADD COLUMN reports bigint NOT NULL DEFAULT 0;
COMMENT ON COLUMN failproof.shard_budgets.epoch IS
    'Under which epoch of the shard''s lease this was told; 0: of the lease on the whole run.';
COMMENT ON COLUMN failproof.shard_budgets.reports IS
    'The number of the newest report of its holder; 0: it was only counted in the log.';

DROP FUNCTION IF EXISTS failproof.reserve_spending(
    uuid, integer, bigint, numeric, numeric, bigint, numeric, numeric, numeric
);
