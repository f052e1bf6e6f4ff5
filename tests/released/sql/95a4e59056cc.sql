-- Take the lease on a shard, or on the run itself (shard -1), when nobody holds it: it was never
-- taken, has ended, was released, or the session that held it is gone. Returns the new epoch, NULL
-- while somebody holds it. Whoever has an older epoch cannot append any more.
--
-- With `lease_alone` (only of shard -1) the run is taken with all its shards: NULL while one of them is
-- held, and none can be claimed meanwhile. What is taken over that way gets a new epoch, too. Without it
-- shard -1 and the shards can have a holder each.
--
-- `lease_session` is the advisory lock that the caller's session has: a hint, by which others see at
-- once that the session is gone. It never makes a lease last longer. With `after_epoch` nothing is
-- taken unless that is the present epoch: nobody has had the lease since.
CREATE OR REPLACE FUNCTION failproof.claim_lease(
    lease_run_id uuid,
    lease_shard integer,
    lease_holder text,
    lease_seconds double precision,
    lease_session bigint DEFAULT NULL,
    lease_alone boolean DEFAULT false,
    after_epoch bigint DEFAULT NULL
) RETURNS bigint
LANGUAGE plpgsql
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    held record;
    old_epoch bigint;
    new_epoch bigint;
BEGIN
    -- Behind this lock no append that names an old epoch is under way, and no other claim.
    PERFORM failproof.lock_append();
    FOR held IN
        SELECT l.shard, l.epoch, l.expires_at, l.session
        FROM failproof.leases AS l
        WHERE l.run_id = lease_run_id
            AND (
                l.shard = lease_shard
                OR lease_alone
                OR (l.alone AND lease_shard >= 0)
            )
        ORDER BY l.shard
        FOR UPDATE
    LOOP
        IF held.expires_at > clock_timestamp() AND NOT coalesce(
            held.session IS DISTINCT FROM lease_session
            AND pg_try_advisory_xact_lock(held.session),
            false
        ) THEN
            RETURN NULL;
        END IF;
        IF held.shard = lease_shard THEN
            old_epoch := held.epoch;
        END IF;
    END LOOP;
    IF after_epoch IS NOT NULL AND old_epoch IS DISTINCT FROM after_epoch THEN
        RETURN NULL;
    END IF;
    UPDATE failproof.leases AS l
    SET
        epoch = l.epoch + 1,
        holder = lease_holder,
        acquired_at = clock_timestamp(),
        expires_at = '-infinity',
        alone = false,
        session = NULL
    WHERE l.run_id = lease_run_id
        AND l.shard <> lease_shard
        AND l.expires_at > '-infinity'
        AND (lease_alone OR (l.alone AND lease_shard >= 0));
    INSERT INTO failproof.leases AS l
        (run_id, shard, epoch, holder, acquired_at, expires_at, alone, session)
    VALUES (
        lease_run_id, lease_shard, 1, lease_holder, clock_timestamp(),
        failproof.lease_end(lease_seconds), lease_alone, lease_session
    )
    ON CONFLICT (run_id, shard) DO UPDATE
    SET
        epoch = l.epoch + 1,
        holder = excluded.holder,
        acquired_at = excluded.acquired_at,
        expires_at = excluded.expires_at,
        alone = excluded.alone,
        session = excluded.session
    RETURNING l.epoch INTO new_epoch;
    RETURN new_epoch;
END;
$$;
