-- The limits of a provider's key that the workers of a database share.
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
    claims bigint NOT NULL DEFAULT 0,
    stated_concurrency integer,
    stated_requests bigint,
    stated_tokens bigint,
    CONSTRAINT limit_shares_pkey PRIMARY KEY (provider_key, share_id),
    CONSTRAINT limit_shares_amounts_exist CHECK (
        concurrency >= 0 AND wanted_concurrency >= 0 AND requests >= 0 AND tokens >= 0
    ),
    CONSTRAINT limit_shares_stated_exist CHECK (
        stated_concurrency >= 0 AND stated_requests >= 0 AND stated_tokens >= 0
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

-- A claim that arrives late must not set a share back, nor make one that was given back live again:
-- each claim has a number, and a share that has ended is remembered for an hour.
COMMENT ON COLUMN failproof.limit_shares.claims IS 'The number of the newest claim of its holder.';
COMMENT ON COLUMN failproof.limit_shares.stated_concurrency IS
    'The limit in its holder''s configuration. NULL: none. The lowest of all live shares holds for all.';
COMMENT ON COLUMN failproof.limit_shares.stated_requests IS 'The same for the requests of a minute.';
COMMENT ON COLUMN failproof.limit_shares.stated_tokens IS 'The same for the tokens of a minute.';

CREATE TABLE failproof.limit_uses (
    provider_key text NOT NULL REFERENCES failproof.provider_limits (provider_key),
    counts_until timestamptz NOT NULL,
    requests bigint NOT NULL,
    tokens bigint NOT NULL,
    CONSTRAINT limit_uses_pkey PRIMARY KEY (provider_key, counts_until),
    CONSTRAINT limit_uses_amounts_exist CHECK (requests >= 0 AND tokens >= 0)
);
COMMENT ON TABLE failproof.limit_uses IS 'What was used of the limits of a minute, second by second.';
COMMENT ON COLUMN failproof.limit_uses.counts_until IS 'A minute after it was reported, or later.';

CREATE VIEW failproof.provider_limit_list WITH (security_invoker = true) AS
SELECT
    provider_key,
    server,
    held_until,
    cuts,
    refused_at,
    answered_at
FROM failproof.provider_limits;

CREATE VIEW failproof.limit_share_list WITH (security_invoker = true) AS
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
