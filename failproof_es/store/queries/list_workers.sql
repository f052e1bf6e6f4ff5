-- Each worker that told of itself lately, and the shards whose leases it holds. A row is not listed that
-- none of them can have written: any client that may work can put one there.
SELECT
    w.worker_id,
    w.holder,
    w.who,
    w.host,
    w.process,
    w.code_version,
    w.since,
    w.heartbeat,
    extract(epoch FROM clock_timestamp() - w.heartbeat)::float8,
    w.finished,
    w.per_second,
    coalesce((
        SELECT array_agg(n.run_number || '/' || l.shard ORDER BY n.run_number, l.shard)
        FROM failproof.lease_list AS l
        JOIN failproof.run_list AS n ON n.run_id = l.run_id
        WHERE l.holder = w.holder AND l.expires_at > clock_timestamp()
    ), '{}'),
    coalesce((
        SELECT array_agg('run ' || n.run_number || ': ' || r.value ORDER BY n.run_number)
        FROM jsonb_each_text(w.refusals) AS r
        JOIN failproof.run_list AS n ON n.run_id::text = r.key
    ), '{}')
FROM failproof_queue.failproof_workers AS w
WHERE w.heartbeat > clock_timestamp() - make_interval(secs => %(forgotten_after_s)s)
    AND w.heartbeat <= clock_timestamp()
    AND w.since BETWEEN '2000-01-01' AND clock_timestamp()
ORDER BY w.since, w.worker_id
