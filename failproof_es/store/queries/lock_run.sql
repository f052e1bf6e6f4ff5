-- This session, and whether it may drive a run: it holds the run's lock now, or nobody who holds
-- it may append. Every session of the database can take an advisory lock, so another one's counts
-- for something only where it could be a driver's.
SELECT
    pg_catalog.pg_backend_pid(),
    pg_catalog.pg_try_advisory_lock(run.key)
    OR coalesce((
        SELECT bool_and(NOT pg_catalog.has_function_privilege(
            holder.usesysid,
            'failproof.append(uuid[], bigint[], text[], bytea[], uuid[], bytea[], uuid, bigint)',
            'EXECUTE'
        ))
        FROM pg_catalog.pg_locks AS held
        JOIN pg_catalog.pg_stat_activity AS holder ON holder.pid = held.pid
        JOIN pg_catalog.pg_database AS here ON here.oid = held.database
        WHERE held.locktype = 'advisory'
            AND held.granted
            AND held.objsubid = 1
            AND here.datname = pg_catalog.current_database()
            AND ((held.classid::bigint << 32) | held.objid::bigint) = run.key
    ), false) AS may_drive
FROM (
    SELECT pg_catalog.hashtextextended('failproof.run.' || %(run_id)s::text, 0) AS key
) AS run
