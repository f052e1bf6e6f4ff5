-- Whether one of these streams holds an event of these kinds.
SELECT EXISTS (
    SELECT FROM failproof.stored_events WHERE originator_id = ANY (%s::uuid[]) AND topic = ANY (%s)
)
