-- The next events, bounded by number and by bytes, one at least. `state` only where a
-- projection wants the event: positions move over the others too.
SELECT position, stream_id, version, topic, run_id, state
FROM (
    SELECT
        notification_id AS position,
        originator_id::text AS stream_id,
        originator_version AS version,
        topic,
        run_id::text AS run_id,
        CASE WHEN topic = ANY (%(topics)s) THEN state END AS state,
        sum(octet_length(state)) OVER (
            ORDER BY notification_id ROWS UNBOUNDED PRECEDING
        ) - octet_length(state) AS bytes_before
    FROM failproof.stored_events
    WHERE notification_id > %(position)s
    ORDER BY notification_id
    LIMIT %(events)s
) AS next
WHERE bytes_before < %(bytes)s
ORDER BY position
