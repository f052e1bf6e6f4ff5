-- Shards of these runs that are not known to be finished, that nobody drives, and for which no job
-- waits. What stands in the queue for a shard and is not as it was put there does not count, and
-- goes: nobody may ever take it.
WITH misplaced AS (
    DELETE FROM failproof_queue.procrastinate_jobs AS j
    WHERE split_part(j.queueing_lock, '/', 1) = ANY (%(runs)s::uuid[]::text[])
        AND (
            j.status = 'todo'
            AND j.queueing_lock = j.queue_name || '/' || (j.args ->> 'shard')
            AND j.args ->> 'run_id' = j.queue_name
            AND j.task_name = %(task)s
            AND j.lock IS NULL
            AND j.scheduled_at IS NULL
        ) IS NOT TRUE
)

SELECT r.run_id, s.shard::integer
FROM failproof.run_shard_list AS r
CROSS JOIN LATERAL generate_series(0, (r.cases - 1) / r.shard_cases) AS s (shard)
LEFT JOIN failproof.lease_list AS l ON l.run_id = r.run_id AND l.shard = s.shard
LEFT JOIN failproof_queue.procrastinate_jobs AS j
    ON j.queueing_lock = r.run_id::text || '/' || s.shard
    AND j.queueing_lock = j.queue_name || '/' || (j.args ->> 'shard')
    AND j.args ->> 'run_id' = j.queue_name
    AND j.task_name = %(task)s
    AND j.status = 'todo'
    AND j.lock IS NULL
    AND j.scheduled_at IS NULL
WHERE r.is_open
    AND r.cases > 0
    AND r.run_id = ANY (%(runs)s)
    AND (l.finished OR l.expires_at > clock_timestamp()) IS NOT TRUE
    AND j.id IS NULL
ORDER BY 1, 2
