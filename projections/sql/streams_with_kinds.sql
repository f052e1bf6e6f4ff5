-- Whether one of these streams holds an event of these kinds. Each stream is looked up by itself, by
-- the index of streams, whatever the planner expects of them.
SELECT EXISTS (
    SELECT FROM unnest(%s::uuid[]) AS wanted (stream)
    CROSS JOIN LATERAL (
        SELECT FROM failproof.stored_events AS e
        WHERE e.originator_id = wanted.stream AND e.topic = ANY (%s)
        OFFSET 0
    ) AS found
)
