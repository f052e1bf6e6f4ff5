-- It waits for appends that are under way, for `patience_ms` at most; 0 is as long as it takes.
WITH patience AS MATERIALIZED (
    SELECT pg_catalog.set_config('lock_timeout', %(patience_ms)s, true) AS said
)

SELECT failproof.claim_lease(
    %(run_id)s, %(shard)s, %(holder)s, %(seconds)s, %(session)s, %(alone)s, %(after_epoch)s
)
FROM patience
WHERE said IS NOT NULL
