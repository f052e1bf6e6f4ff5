-- Let others have this lease from now on, and tell whether it was still held. `is_finished` is a hint
-- for them: nothing is left to be done.
CREATE OR REPLACE FUNCTION failproof.release_lease(
    lease_run_id uuid, lease_shard integer, lease_epoch bigint, is_finished boolean DEFAULT false
) RETURNS boolean
LANGUAGE plpgsql
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    UPDATE failproof.leases AS l
    SET
        expires_at = least(l.expires_at, clock_timestamp()),
        finished = l.finished OR is_finished,
        session = NULL
    WHERE l.run_id = lease_run_id AND l.shard = lease_shard AND l.epoch = lease_epoch;
    RETURN FOUND;
END;
$$;
