-- How each run and each of its models stands. accuracy_sum adds each score rounded to six decimals,
-- exactly, so that it does not depend on the order of adding.
CREATE TABLE runs (
    run_id uuid PRIMARY KEY,
    run_number bigint NOT NULL,
    name text NOT NULL,
    status text NOT NULL,
    reason json,
    planned integer NOT NULL,
    started_at timestamptz NOT NULL,
    ended_at timestamptz,
    configuration_digest text NOT NULL
);

CREATE TABLE progress (
    run_id uuid NOT NULL,
    model_key text NOT NULL,
    planned bigint NOT NULL DEFAULT 0,
    requests bigint NOT NULL DEFAULT 0,
    answers bigint NOT NULL DEFAULT 0,
    errors bigint NOT NULL DEFAULT 0,
    retries bigint NOT NULL DEFAULT 0,
    lost_attempts bigint NOT NULL DEFAULT 0,
    scored bigint NOT NULL DEFAULT 0,
    abandoned bigint NOT NULL DEFAULT 0,
    passed bigint NOT NULL DEFAULT 0,
    failed bigint NOT NULL DEFAULT 0,
    refused bigint NOT NULL DEFAULT 0,
    empty bigint NOT NULL DEFAULT 0,
    truncated bigint NOT NULL DEFAULT 0,
    other bigint NOT NULL DEFAULT 0,
    accuracy_sum numeric NOT NULL DEFAULT 0,
    in_flight bigint GENERATED ALWAYS AS (requests - answers - errors - lost_attempts) STORED,
    PRIMARY KEY (run_id, model_key)
);
