-- Those of these streams that end with a request: it has no outcome on record.
SELECT e.originator_id, e.originator_version
FROM unnest(%(streams)s::text[]::uuid[]) AS wanted (stream)
CROSS JOIN LATERAL (
    SELECT f.originator_id, f.originator_version, f.topic
    FROM failproof.stored_events AS f
    WHERE f.originator_id = wanted.stream
    ORDER BY f.originator_version DESC
    LIMIT 1
) AS e
WHERE e.topic = 'RequestSent'
