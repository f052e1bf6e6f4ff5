-- How these streams had begun and ended by a position: the first event of each, and its last word.
-- What a reference says is read; the rest may be large, and is not. Each stream is looked up by itself,
-- by the index of streams, whatever the planner expects of them.
SELECT e.originator_id, e.originator_version, e.topic,
    CASE WHEN e.topic = 'CarriedOver' THEN e.state END AS reference
FROM (SELECT DISTINCT given.stream FROM unnest(%b::uuid[]) AS given (stream)) AS wanted
CROSS JOIN LATERAL (
    SELECT f.originator_id, f.originator_version, f.topic, f.state
    FROM failproof.stored_events AS f
    WHERE f.originator_id = wanted.stream AND f.notification_id <= %b
        AND (f.originator_version = 1 OR f.topic = ANY (%b))
    OFFSET 0
) AS e
ORDER BY e.originator_id, e.originator_version
