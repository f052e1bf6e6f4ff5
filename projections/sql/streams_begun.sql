-- How many of these streams begin with an event of these kinds.
SELECT count(*) FROM failproof.stored_events
WHERE originator_id = ANY (%s::uuid[]) AND originator_version = 1 AND topic = ANY (%s)
