-- Let these leases last so many seconds from now on, those of them that are held: never one whose
-- epoch is another by now, or that has ended. Such a one has to be claimed again. Returns those that were
-- renewed. `lease_session` is as in claim_lease.sql.
CREATE OR REPLACE FUNCTION failproof.renew_leases(
    lease_run_ids uuid[],
    lease_shards integer[],
    lease_epochs bigint[],
    lease_seconds double precision,
    lease_session bigint DEFAULT NULL
) RETURNS TABLE (renewed_run_id uuid, renewed_shard integer)
LANGUAGE plpgsql
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    -- In one order, in which claims lock them, too.
    PERFORM FROM failproof.leases AS l
    JOIN unnest(lease_run_ids, lease_shards, lease_epochs) AS held (run_id, shard, epoch)
        USING (run_id, shard, epoch)
    ORDER BY l.run_id, l.shard
    FOR UPDATE OF l;
    RETURN QUERY
        UPDATE failproof.leases AS l
        SET expires_at = failproof.lease_end(lease_seconds), session = lease_session
        FROM unnest(lease_run_ids, lease_shards, lease_epochs) AS held (run_id, shard, epoch)
        WHERE l.run_id = held.run_id
            AND l.shard = held.shard
            AND l.epoch = held.epoch
            AND l.expires_at > clock_timestamp()
        RETURNING l.run_id, l.shard;
END;
$$;
