-- The events of these topics in these streams. Each stream is looked up by itself, by their index.
SELECT e.originator_id, e.originator_version, e.topic, e.state
FROM unnest(%(streams)s::text[]::uuid[]) AS wanted (stream)
CROSS JOIN LATERAL (
    SELECT f.originator_id, f.originator_version, f.topic, f.state
    FROM failproof.stored_events AS f
    WHERE f.originator_id = wanted.stream AND f.topic = ANY (%(topics)s)
    OFFSET 0
) AS e
