-- The leases on shards of these runs that have not ended although the session of their holder is gone: its
-- process has died, or is about to show its new session. A hint: who claims such a shard asks again.
--
-- Reads which advisory locks there are and takes none, so that those who look do not meet each other.
CREATE OR REPLACE FUNCTION failproof.dead_leases(of_runs uuid[])
RETURNS TABLE (dead_run_id uuid, dead_shard integer, dead_epoch bigint)
LANGUAGE sql
STABLE
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT l.run_id, l.shard, l.epoch
    FROM failproof.leases AS l
    WHERE l.run_id = ANY (of_runs)
        AND l.shard >= 0
        AND l.session IS NOT NULL
        AND l.expires_at > clock_timestamp()
        AND l.session NOT IN (
            SELECT (k.classid::bigint << 32) | k.objid::bigint
            FROM pg_locks AS k
            WHERE k.locktype = 'advisory'
                AND k.objsubid = 1
                AND k.granted
                AND k.database = (SELECT d.oid FROM pg_database AS d WHERE d.datname = current_database())
        )
    ORDER BY l.run_id, l.shard;
$$;
