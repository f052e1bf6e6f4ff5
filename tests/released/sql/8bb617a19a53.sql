-- The next epoch of a run's lease: whoever holds an older one cannot append any more.
CREATE OR REPLACE FUNCTION failproof.acquire_lease(lease_run_id uuid, lease_holder text)
RETURNS bigint
LANGUAGE plpgsql
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    new_epoch bigint;
BEGIN
    -- Behind this lock no append that names the old epoch is under way.
    PERFORM failproof.lock_append();
    INSERT INTO failproof.leases AS l (run_id, epoch, holder)
    VALUES (lease_run_id, 1, lease_holder)
    ON CONFLICT (run_id) DO UPDATE
    SET epoch = l.epoch + 1, holder = excluded.holder, acquired_at = clock_timestamp()
    RETURNING epoch INTO new_epoch;
    RETURN new_epoch;
END;
$$;
