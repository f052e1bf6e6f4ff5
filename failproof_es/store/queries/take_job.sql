-- Take the next job out of the queues with these names: the most urgent one, of several the oldest.
-- It is gone with this one statement, which commits by itself: no session holds a job that its host
-- can take along. Who takes it and dies leaves a shard without a job and without a holder, and
-- `shards_without_job` finds that.
DELETE FROM failproof_queue.procrastinate_jobs
WHERE id = (
    SELECT j.id
    FROM failproof_queue.procrastinate_jobs AS j
    WHERE j.status = 'todo' AND j.task_name = %(task)s AND j.queue_name = ANY (%(queues)s)
    ORDER BY j.priority DESC, j.id
    LIMIT 1
    FOR UPDATE SKIP LOCKED
)
RETURNING args ->> 'run_id' AS run_id, args -> 'shard' AS shard
