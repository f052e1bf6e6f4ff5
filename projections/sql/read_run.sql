-- As read_batch, of one run before a position: its evaluations and, where `own`, its own stream.
SELECT position, stream_id, version, topic, run_id, state
FROM (
    SELECT
        notification_id AS position,
        originator_id::text AS stream_id,
        originator_version AS version,
        topic,
        run_id::text AS run_id,
        CASE
            WHEN topic = ANY (%(topics)s) OR topic <> ALL (%(known)s) THEN state
        END AS state,
        sum(coalesce(octet_length(state), 0)) OVER (
            ORDER BY notification_id ROWS UNBOUNDED PRECEDING
        ) AS bytes_so_far,
        row_number() OVER (ORDER BY notification_id) AS place
    FROM failproof.stored_events
    WHERE notification_id > %(position)s
        AND notification_id < %(before)s
        AND run_id = %(run_id)s
        AND (%(own)s OR originator_id <> %(run_id)s)
    ORDER BY notification_id
    LIMIT %(events)s
) AS next
WHERE bytes_so_far <= %(bytes)s OR place = 1
ORDER BY position
