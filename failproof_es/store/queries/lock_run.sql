-- Take the session lock of a run, if it is free.
SELECT pg_backend_pid(), pg_try_advisory_lock(hashtextextended('failproof.run.' || %(run_id)s, 0))
