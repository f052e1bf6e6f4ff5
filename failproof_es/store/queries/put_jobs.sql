-- Put a job for each of these shards in the queue, unless one waits there; the shards that were put.
-- All who do it go through the shards in one order, so that no two wait for each other.
INSERT INTO failproof_queue.procrastinate_jobs AS j
    (queue_name, task_name, priority, queueing_lock, args)
SELECT
    new.run_id::text,
    %(task)s,
    %(priority)s,
    new.run_id::text || '/' || new.shard,
    jsonb_build_object('run_id', new.run_id, 'shard', new.shard)
FROM unnest(%(run_ids)s::uuid[], %(shards)s::integer[]) AS new (run_id, shard)
ORDER BY new.run_id, new.shard
ON CONFLICT (queueing_lock) WHERE status = 'todo' DO NOTHING
RETURNING j.queue_name::uuid AS run_id, (j.args -> 'shard')::integer AS shard
