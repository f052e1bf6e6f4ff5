-- End the session that holds the lock of a run, if it is still the server process `session`.
SELECT pg_terminate_backend(pid)
FROM pg_locks
CROSS JOIN hashtextextended('failproof.run.' || %(run_id)s, 0) AS lock_key
WHERE locktype = 'advisory' AND granted AND pid = %(session)s AND objsubid = 1
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND (classid::bigint << 32) + objid::bigint = lock_key
