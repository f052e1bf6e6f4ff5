-- Shards of these runs that are not known to be finished, that nobody drives, and that no job stands
-- for: none waits, and none was taken by a process that lives and has yet to claim the shard for the
-- first time. Where a lease was held and has ended, a job that was taken says nothing: its process
-- may be cut off, and would count as alive for longer than the lease lasted.
SELECT r.run_id, s.shard::integer
FROM failproof.run_shard_list AS r
CROSS JOIN LATERAL generate_series(0, (r.cases - 1) / r.shard_cases) AS s (shard)
LEFT JOIN failproof.lease_list AS l ON l.run_id = r.run_id AND l.shard = s.shard
LEFT JOIN (
    SELECT j.queueing_lock, bool_or(j.status = 'todo') AS waits
    FROM failproof_queue.procrastinate_jobs AS j
    LEFT JOIN failproof_queue.procrastinate_workers AS w ON w.id = j.worker_id
    WHERE j.status = 'todo'
        OR (
            j.status = 'doing'
            AND w.last_heartbeat > clock_timestamp() - make_interval(secs => %(dead_after_s)s)
        )
    GROUP BY j.queueing_lock
) AS job ON job.queueing_lock = r.run_id::text || '/' || s.shard
WHERE r.is_open
    AND r.cases > 0
    AND r.run_id = ANY (%(runs)s)
    AND (l.finished OR l.expires_at > clock_timestamp()) IS NOT TRUE
    AND (job.waits OR (job.queueing_lock IS NOT NULL AND l.run_id IS NULL)) IS NOT TRUE
ORDER BY 1, 2
