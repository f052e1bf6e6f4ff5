-- The requests of a run that have no outcome on record, by stream and version. The next event of each
-- stream is looked up by itself, by the index of streams, whatever the planner expects of them. The
-- topic is hidden from it, or it might read the index of the requests of all runs.
SELECT sent.originator_id, sent.originator_version
FROM failproof.stored_events AS sent
LEFT JOIN LATERAL (
    SELECT true AS found
    FROM failproof.stored_events AS e
    WHERE e.originator_id = sent.originator_id
        AND e.originator_version = sent.originator_version + 1
    LIMIT 1
) AS next ON true
WHERE sent.run_id = %(run)s AND sent.topic || '' = 'RequestSent' AND next.found IS NULL
