-- How many of these streams of evaluations have ended, with a score and without, and the places
-- (from 1) of the others; then of those among them that have an event. Only a stream that is numbered
-- without a gap and ends with its only final event counts as ended: of any other, who reads it whole
-- says what it is. Each stream is looked up by itself, by the index of streams, whatever the planner
-- expects of them.
SELECT
    count(*) FILTER (WHERE found.ended AND found.scored),
    count(*) FILTER (WHERE found.ended AND NOT found.scored),
    coalesce(
        array_agg(planned.place ORDER BY planned.place) FILTER (WHERE found.ended IS NOT TRUE),
        '{}'
    ),
    coalesce(
        array_agg(planned.place) FILTER (WHERE found.ended IS NOT TRUE AND found.events > 0), '{}'
    )
FROM unnest(%(streams)b::text[]::uuid[]) WITH ORDINALITY AS planned (stream, place)
CROSS JOIN LATERAL (
    SELECT
        count(*) AS events,
        bool_or(e.topic = 'Scored') AS scored,
        min(e.originator_version) = 1
            AND count(*) = max(e.originator_version)
            AND count(*) FILTER (WHERE e.topic = ANY (%(final)b)) = 1
            AND max(e.originator_version) FILTER (WHERE e.topic = ANY (%(final)b))
                = max(e.originator_version)
            AND bool_and(e.topic <> 'CarriedOver') AS ended
    FROM failproof.stored_events AS e
    WHERE e.originator_id = planned.stream
) AS found
