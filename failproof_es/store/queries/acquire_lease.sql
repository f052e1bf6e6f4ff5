INSERT INTO failproof.leases AS l (run_id, epoch, holder)
VALUES (%(run_id)s, 1, %(holder)s)
ON CONFLICT (run_id) DO UPDATE
SET epoch = l.epoch + 1, holder = excluded.holder, acquired_at = clock_timestamp()
RETURNING epoch
