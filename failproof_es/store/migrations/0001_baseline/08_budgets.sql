-- The spend ceiling that the workers of a run share.
CREATE TABLE failproof.run_budgets (
    run_id uuid PRIMARY KEY,
    ceiling_usd numeric NOT NULL,
    wanted_until timestamptz NOT NULL DEFAULT '-infinity',
    epoch bigint NOT NULL DEFAULT 0,
    changes bigint NOT NULL DEFAULT 0,
    CONSTRAINT run_budgets_ceiling_exists CHECK (ceiling_usd >= 0),
    -- NaN is greater than every number, and than infinity, too.
    CONSTRAINT run_budgets_ceiling_is_finite CHECK (ceiling_usd < 'Infinity')
);
COMMENT ON TABLE failproof.run_budgets IS 'Runs with a spend ceiling that workers drive.';
COMMENT ON COLUMN failproof.run_budgets.ceiling_usd IS
    'The most that the run may spend, in US dollars. The log says who set it.';
COMMENT ON COLUMN failproof.run_budgets.wanted_until IS
    'Until then whoever holds some of it unused gives it back: somebody waits.';

-- A ceiling is changed under the lease on the whole run, in the order of its holder.
COMMENT ON COLUMN failproof.run_budgets.epoch IS
    'Under which epoch of the lease on the whole run the ceiling was set; 0: when it was planned.';
COMMENT ON COLUMN failproof.run_budgets.changes IS 'The number of the newest change under that epoch.';

CREATE TABLE failproof.shard_budgets (
    run_id uuid NOT NULL REFERENCES failproof.run_budgets (run_id),
    shard integer NOT NULL,
    known_usd numeric NOT NULL,
    unknown_usd numeric NOT NULL,
    unknown_requests bigint NOT NULL,
    reserved_usd numeric NOT NULL,
    epoch bigint NOT NULL DEFAULT 0,
    reports bigint NOT NULL DEFAULT 0,
    CONSTRAINT shard_budgets_pkey PRIMARY KEY (run_id, shard),
    CONSTRAINT shard_budgets_amounts_exist CHECK (
        known_usd >= 0 AND unknown_usd >= 0 AND unknown_requests >= 0 AND reserved_usd >= 0
    ),
    CONSTRAINT shard_budgets_amounts_are_finite CHECK (
        known_usd < 'Infinity' AND unknown_usd < 'Infinity' AND reserved_usd < 'Infinity'
    )
);
COMMENT ON TABLE failproof.shard_budgets IS
    'What each shard of such a run has spent, and may spend without asking. Counted again in the log by '
    'whoever claims the shard.';
COMMENT ON COLUMN failproof.shard_budgets.known_usd IS 'What its recorded answers cost.';
COMMENT ON COLUMN failproof.shard_budgets.unknown_usd IS
    'The worst cases of its requests whose cost nobody knows.';
COMMENT ON COLUMN failproof.shard_budgets.reserved_usd IS
    'What its holder may spend beside that, requests in flight included.';
-- A statement of a connection that was cut may arrive after those that followed it. What it says is
-- old by then: each report has a number, and the newest one counts.
COMMENT ON COLUMN failproof.shard_budgets.epoch IS
    'Under which epoch of the shard''s lease this was told; 0: of the lease on the whole run.';
COMMENT ON COLUMN failproof.shard_budgets.reports IS
    'The number of the newest report of its holder; 0: it was only counted in the log.';

CREATE VIEW failproof.run_budget_list WITH (security_invoker = true) AS
SELECT
    run_id,
    ceiling_usd,
    wanted_until
FROM failproof.run_budgets;

CREATE VIEW failproof.shard_budget_list WITH (security_invoker = true) AS
SELECT
    run_id,
    shard,
    known_usd,
    unknown_usd,
    unknown_requests,
    reserved_usd
FROM failproof.shard_budgets;
