-- The runs that are open for workers, the oldest first: how they are cut, what their own stream says
-- last of how they stand, and how many of their shards are finished. Leases and hints tell the last;
-- the log is the truth.
SELECT
    r.run_id,
    r.cases,
    r.shard_cases,
    (
        SELECT e.topic
        FROM failproof.stored_events AS e
        WHERE e.originator_id = r.run_id AND e.topic = ANY (%(topics)s)
        ORDER BY e.originator_version DESC
        LIMIT 1
    ),
    (
        SELECT count(*)
        FROM failproof.lease_list AS l
        WHERE l.run_id = r.run_id
            AND l.shard BETWEEN 0 AND (r.cases - 1) / r.shard_cases
            AND l.finished
    )
FROM failproof.run_shard_list AS r
JOIN failproof.run_list AS n ON n.run_id = r.run_id
WHERE r.is_open
ORDER BY n.run_number
