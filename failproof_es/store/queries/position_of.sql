SELECT notification_id
FROM failproof.stored_events
WHERE originator_id = %b AND originator_version = %b::bigint AND topic = %b AND state = %b
