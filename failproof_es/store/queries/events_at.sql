-- Events by stream and version. Each is looked up by itself, by the index of streams.
SELECT e.originator_id, e.originator_version, e.topic, e.state
FROM unnest(%(streams)s::uuid[], %(versions)s::bigint[]) AS wanted (stream, version)
CROSS JOIN LATERAL (
    SELECT f.originator_id, f.originator_version, f.topic, f.state
    FROM failproof.stored_events AS f
    WHERE f.originator_id = wanted.stream AND f.originator_version = wanted.version
    LIMIT 1
) AS e
