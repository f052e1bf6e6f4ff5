SELECT
    notification_id AS position,
    originator_id AS stream_id,
    originator_version AS version,
    topic,
    state,
    run_id,
    recorded_at
FROM failproof.events
WHERE notification_id > %s
ORDER BY notification_id
LIMIT %s
