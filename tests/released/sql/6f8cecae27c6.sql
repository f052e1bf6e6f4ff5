-- A lease ends by the database's clock unless it is renewed, and there is one for each shard of a
-- run beside that for the run itself (shard -1). The functions come back in `functions/`.
DROP FUNCTION IF EXISTS failproof.append(
    uuid [], bigint [], text [], bytea [], uuid [], bytea [], uuid, bigint
);
DROP FUNCTION IF EXISTS failproof.acquire_lease(uuid, text);

-- A lease from before has ended: whoever held it cannot append by the new functions.
ALTER TABLE failproof.leases
ADD COLUMN shard integer NOT NULL DEFAULT -1,
ADD COLUMN expires_at timestamptz NOT NULL DEFAULT '-infinity',
ADD COLUMN alone boolean NOT NULL DEFAULT false,
ADD COLUMN finished boolean NOT NULL DEFAULT false,
ADD COLUMN session bigint,
ADD CONSTRAINT leases_shard_exists CHECK (shard >= -1),
ADD CONSTRAINT leases_only_a_run_is_held_alone CHECK (shard = -1 OR NOT alone);
ALTER TABLE failproof.leases DROP CONSTRAINT leases_pkey;
ALTER TABLE failproof.leases ADD CONSTRAINT leases_pkey PRIMARY KEY (run_id, shard);
ALTER TABLE failproof.leases
ALTER COLUMN shard DROP DEFAULT,
ALTER COLUMN expires_at DROP DEFAULT;

COMMENT ON TABLE failproof.leases IS
    'Who may write for a run (shard -1) or for one of its shards: whoever holds its epoch.';
COMMENT ON COLUMN failproof.leases.expires_at IS
    'From then on anybody may claim it. -infinity: nobody holds this epoch.';
COMMENT ON COLUMN failproof.leases.alone IS
    'Whether the run is held with all its shards: then nobody else may claim one.';
COMMENT ON COLUMN failproof.leases.finished IS
    'A hint of the last holder: nothing is left to be done. The log is the truth.';
COMMENT ON COLUMN failproof.leases.session IS
    'A hint: the advisory lock that the holder''s session has. Without it the session is gone.';

CREATE OR REPLACE VIEW failproof.lease_list AS
SELECT
    run_id,
    epoch,
    holder,
    acquired_at,
    shard,
    expires_at,
    alone,
    finished
FROM failproof.leases;
