-- What the workers of a database share: the spend ceiling of a run, and the limits of a provider's key.
CREATE TABLE failproof.run_budgets (
    run_id uuid PRIMARY KEY,
    ceiling_usd numeric NOT NULL,
    wanted_until timestamptz NOT NULL DEFAULT '-infinity',
    CONSTRAINT run_budgets_ceiling_exists CHECK (ceiling_usd >= 0)
);
COMMENT ON TABLE failproof.run_budgets IS 'Runs with a spend ceiling that workers drive.';
COMMENT ON COLUMN failproof.run_budgets.ceiling_usd IS
    'The most that the run may spend, in US dollars. The log says who set it.';
COMMENT ON COLUMN failproof.run_budgets.wanted_until IS
    'Until then whoever holds some of it unused gives it back: somebody waits.';

CREATE TABLE failproof.shard_budgets (
    run_id uuid NOT NULL REFERENCES failproof.run_budgets (run_id),
    shard integer NOT NULL,
    known_usd numeric NOT NULL,
    unknown_usd numeric NOT NULL,
    unknown_requests bigint NOT NULL,
    reserved_usd numeric NOT NULL,
    CONSTRAINT shard_budgets_pkey PRIMARY KEY (run_id, shard),
    CONSTRAINT shard_budgets_amounts_exist CHECK (
        known_usd >= 0 AND unknown_usd >= 0 AND unknown_requests >= 0 AND reserved_usd >= 0
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

CREATE VIEW failproof.run_budget_list AS
SELECT
    run_id,
    ceiling_usd,
    wanted_until
FROM failproof.run_budgets;

CREATE VIEW failproof.shard_budget_list AS
SELECT
    run_id,
    shard,
    known_usd,
    unknown_usd,
    unknown_requests,
    reserved_usd
FROM failproof.shard_budgets;

CREATE TABLE failproof.provider_limits (
    provider_key text PRIMARY KEY,
    server text NOT NULL,
    held_until timestamptz NOT NULL DEFAULT '-infinity',
    cuts bigint NOT NULL DEFAULT 0,
    cut_at timestamptz NOT NULL DEFAULT '-infinity',
    refused_at timestamptz NOT NULL DEFAULT '-infinity',
    answered_at timestamptz NOT NULL DEFAULT '-infinity'
);
COMMENT ON TABLE failproof.provider_limits IS
    'What the servers said to workers, by provider key. No key is in it, nor a digest of one.';
COMMENT ON COLUMN failproof.provider_limits.provider_key IS
    'A digest of the server and of the names of the environment variables that hold its keys.';
COMMENT ON COLUMN failproof.provider_limits.held_until IS
    'Until then nobody sends anything: the server said so (`Retry-After`).';
COMMENT ON COLUMN failproof.provider_limits.cuts IS
    'How often the server was sent too many requests: each time all workers halve theirs.';
COMMENT ON COLUMN failproof.provider_limits.cut_at IS 'When that was told last.';
COMMENT ON COLUMN failproof.provider_limits.refused_at IS 'When a worker was turned away last.';
COMMENT ON COLUMN failproof.provider_limits.answered_at IS
    'When a worker was answered last, as far as somebody was turned away before.';

CREATE TABLE failproof.limit_shares (
    provider_key text NOT NULL REFERENCES failproof.provider_limits (provider_key),
    share_id uuid NOT NULL,
    holder text NOT NULL,
    concurrency integer,
    wanted_concurrency integer NOT NULL,
    requests bigint,
    tokens bigint,
    is_waiting boolean NOT NULL,
    expires_at timestamptz NOT NULL,
    CONSTRAINT limit_shares_pkey PRIMARY KEY (provider_key, share_id),
    CONSTRAINT limit_shares_amounts_exist CHECK (
        concurrency >= 0 AND wanted_concurrency >= 0 AND requests >= 0 AND tokens >= 0
    )
);
COMMENT ON TABLE failproof.limit_shares IS
    'The share that each worker has of the configured limits of a provider key.';
COMMENT ON COLUMN failproof.limit_shares.concurrency IS
    'How many requests it may have in flight, until its share ends. NULL: there is no limit.';
COMMENT ON COLUMN failproof.limit_shares.requests IS
    'How many it may still send. They count for a minute after its share ends.';
COMMENT ON COLUMN failproof.limit_shares.tokens IS
    'How many tokens it may still use, those of requests in flight included.';
COMMENT ON COLUMN failproof.limit_shares.expires_at IS
    'When its share ends, unless it is renewed. Its holder sends nothing from long before that.';

CREATE TABLE failproof.limit_uses (
    provider_key text NOT NULL REFERENCES failproof.provider_limits (provider_key),
    counts_until timestamptz NOT NULL,
    requests bigint NOT NULL,
    tokens bigint NOT NULL,
    CONSTRAINT limit_uses_pkey PRIMARY KEY (provider_key, counts_until)
);
COMMENT ON TABLE failproof.limit_uses IS 'What was used of the limits of a minute, second by second.';
COMMENT ON COLUMN failproof.limit_uses.counts_until IS 'A minute after it was reported, or later.';

CREATE VIEW failproof.provider_limit_list AS
SELECT
    provider_key,
    server,
    held_until,
    cuts,
    refused_at,
    answered_at
FROM failproof.provider_limits;

CREATE VIEW failproof.limit_share_list AS
SELECT
    provider_key,
    share_id,
    holder,
    concurrency,
    wanted_concurrency,
    requests,
    tokens,
    is_waiting,
    expires_at
FROM failproof.limit_shares;
