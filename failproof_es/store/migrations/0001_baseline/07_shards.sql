-- How the cases of a run are cut into shards, for the workers that drive it.
CREATE TABLE failproof.run_shards (
    run_id uuid PRIMARY KEY,
    cases bigint NOT NULL,
    shard_cases integer NOT NULL,
    is_open boolean NOT NULL,
    CONSTRAINT run_shards_cases_count CHECK (cases >= 0),
    CONSTRAINT run_shards_hold_a_case CHECK (shard_cases >= 1)
);
COMMENT ON TABLE failproof.run_shards IS 'Runs that workers drive, and how they are cut into shards.';
COMMENT ON COLUMN failproof.run_shards.cases IS 'How many cases the run planned.';
COMMENT ON COLUMN failproof.run_shards.shard_cases IS
    'How many cases each shard holds, in plan order; the last one may hold fewer. Never changes.';
COMMENT ON COLUMN failproof.run_shards.is_open IS
    'A hint: whether workers have something to do in it. The log is the truth.';

CREATE VIEW failproof.run_shard_list WITH (security_invoker = true) AS
SELECT
    run_id,
    cases,
    shard_cases,
    is_open
FROM failproof.run_shards;
