-- How many of these streams of evaluations have ended, with a score and without, and the places
-- (from 1) of the others. Only one that is numbered without a gap and ends with its only final event
-- counts as ended: of any other, who reads it whole says what it is.
WITH ended AS (
    SELECT e.originator_id, bool_or(e.topic = 'Scored') AS scored
    FROM failproof.stored_events AS e
    WHERE e.originator_id = ANY (%(streams)b::text[]::uuid[])
    GROUP BY e.originator_id
    HAVING min(e.originator_version) = 1
        AND count(*) = max(e.originator_version)
        AND count(*) FILTER (WHERE e.topic = ANY (%(final)b)) = 1
        AND max(e.originator_version) FILTER (WHERE e.topic = ANY (%(final)b))
            = max(e.originator_version)
        AND bool_and(e.topic <> 'CarriedOver')
)
SELECT
    count(*) FILTER (WHERE ended.scored),
    count(*) FILTER (WHERE NOT ended.scored),
    coalesce(
        array_agg(planned.place ORDER BY planned.place) FILTER (WHERE ended.scored IS NULL), '{}'
    )
FROM unnest(%(streams)b::text[]::uuid[]) WITH ORDINALITY AS planned (stream, place)
LEFT JOIN ended ON ended.originator_id = planned.stream
