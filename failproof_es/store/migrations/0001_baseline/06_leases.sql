-- Who drives a run now. The epoch grows with each new driver; an append that names an older epoch is
-- refused, so a process that lost its lease cannot write. A lease ends by the database's clock unless
-- it is renewed, and there is one for each shard of a run beside that for the run itself (shard -1).
CREATE TABLE failproof.leases (
    run_id uuid NOT NULL,
    shard integer NOT NULL,
    epoch bigint NOT NULL,
    holder text NOT NULL,
    acquired_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    expires_at timestamptz NOT NULL,
    alone boolean NOT NULL DEFAULT false,
    finished boolean NOT NULL DEFAULT false,
    session bigint,
    CONSTRAINT leases_pkey PRIMARY KEY (run_id, shard),
    CONSTRAINT leases_shard_exists CHECK (shard >= -1),
    CONSTRAINT leases_only_a_run_is_held_alone CHECK (shard = -1 OR NOT alone)
);
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

CREATE VIEW failproof.lease_list WITH (security_invoker = true) AS
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

-- A lease changes hands by the next epoch, and in no other way.
CREATE TRIGGER epochs_only_grow BEFORE UPDATE ON failproof.leases
    FOR EACH ROW EXECUTE FUNCTION failproof.refuse_old_epoch();
CREATE TRIGGER leases_stay BEFORE DELETE OR TRUNCATE ON failproof.leases
    FOR EACH STATEMENT EXECUTE FUNCTION failproof.refuse_change();
CREATE TRIGGER lease_rows_stay BEFORE DELETE ON failproof.leases
    FOR EACH ROW EXECUTE FUNCTION failproof.refuse_change();
ALTER TABLE failproof.leases ENABLE ALWAYS TRIGGER epochs_only_grow;
ALTER TABLE failproof.leases ENABLE ALWAYS TRIGGER leases_stay;
ALTER TABLE failproof.leases ENABLE ALWAYS TRIGGER lease_rows_stay;
