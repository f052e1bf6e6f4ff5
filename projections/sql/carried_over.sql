-- What these streams hold of these topics: evaluations that are over, so it is all there will be.
SELECT originator_id::text, originator_version, topic, state
FROM failproof.stored_events
WHERE originator_id = ANY (%s::uuid[]) AND topic = ANY (%s)
ORDER BY originator_id, originator_version
