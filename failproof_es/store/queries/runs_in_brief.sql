-- Of these runs the first event, and of each of these topics the last one. Each stream is looked up
-- by itself, by the index of streams and by that of rare topics: a plan of many parts is not read.
SELECT e.originator_id, e.originator_version, e.topic, e.state
FROM (SELECT DISTINCT given.run FROM unnest(%(runs)s::text[]::uuid[]) AS given (run)) AS wanted
CROSS JOIN LATERAL (
    SELECT f.*
    FROM failproof.stored_events AS f
    WHERE f.originator_id = wanted.run AND f.originator_version = 1
    UNION ALL
    SELECT told.* FROM (
        SELECT DISTINCT ON (f.topic) f.*
        FROM failproof.stored_events AS f
        WHERE f.originator_id = wanted.run AND f.originator_version > 1
            AND f.topic = ANY (%(topics)s)
        ORDER BY f.topic, f.originator_version DESC
    ) AS told
) AS e
ORDER BY e.originator_id, e.originator_version
