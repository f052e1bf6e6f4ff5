-- Shards of these runs that are not known to be finished, that nobody drives, and that no job stands
-- for: none waits, and none was taken by a process that lives. What stands in the queue for a shard and is
-- not as it was put there may never be taken, so it does not count.
SELECT r.run_id, s.shard::integer
FROM failproof.run_shard_list AS r
CROSS JOIN LATERAL generate_series(0, (r.cases - 1) / r.shard_cases) AS s (shard)
LEFT JOIN failproof.lease_list AS l ON l.run_id = r.run_id AND l.shard = s.shard
WHERE r.is_open
    AND r.cases > 0
    AND r.run_id = ANY (%(runs)s)
    AND (l.finished OR l.expires_at > clock_timestamp()) IS NOT TRUE
    AND r.run_id::text || '/' || s.shard NOT IN (
        SELECT j.queueing_lock
        FROM failproof_queue.procrastinate_jobs AS j
        LEFT JOIN failproof_queue.procrastinate_workers AS w ON w.id = j.worker_id
        WHERE j.queueing_lock = j.queue_name || '/' || (j.args ->> 'shard')
            AND j.args ->> 'run_id' = j.queue_name
            AND j.task_name = %(task)s
            AND j.lock IS NULL
            AND j.scheduled_at IS NULL
            AND (
                j.status = 'todo'
                OR (
                    j.status = 'doing'
                    AND w.last_heartbeat
                    > clock_timestamp() - make_interval(secs => %(dead_after_s)s)
                )
            )
    )
ORDER BY 1, 2
