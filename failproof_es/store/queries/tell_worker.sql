WITH forgotten AS (
    DELETE FROM failproof_queue.failproof_workers
    WHERE heartbeat < clock_timestamp() - make_interval(secs => %(forgotten_after_s)s)
        AND worker_id <> %(worker_id)s
)
INSERT INTO failproof_queue.failproof_workers AS w
    (worker_id, holder, who, host, process, code_version, finished, per_second, refusals)
VALUES (
    %(worker_id)s, %(holder)s, %(who)s, %(host)s, %(process)s, %(code_version)s, %(finished)s,
    %(per_second)s::float8, %(refusals)s::jsonb
)
ON CONFLICT (worker_id) DO UPDATE
SET
    heartbeat = clock_timestamp(),
    finished = excluded.finished,
    refusals = excluded.refusals,
    per_second = coalesce(excluded.per_second, w.per_second)
