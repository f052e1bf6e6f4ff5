-- What these streams hold of these topics: evaluations that are over, so it is all there will be.
-- Each stream is looked up by itself, by the index of streams, whatever the planner expects of them.
SELECT e.originator_id::text, e.originator_version, e.topic, e.state
FROM (SELECT DISTINCT given.stream FROM unnest(%s::uuid[]) AS given (stream)) AS wanted
CROSS JOIN LATERAL (
    SELECT f.originator_id, f.originator_version, f.topic, f.state
    FROM failproof.stored_events AS f
    WHERE f.originator_id = wanted.stream AND f.topic = ANY (%s)
    OFFSET 0
) AS e
ORDER BY e.originator_id, e.originator_version
