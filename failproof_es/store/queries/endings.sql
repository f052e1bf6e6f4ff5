-- How these streams had begun and ended by a position: the first event of each, and its last word.
-- What a reference says is read; the rest may be large, and is not.
SELECT originator_id, originator_version, topic,
    CASE WHEN topic = 'CarriedOver' THEN state END AS reference
FROM failproof.stored_events
WHERE originator_id = ANY (%b) AND notification_id <= %b
    AND (originator_version = 1 OR topic = ANY (%b))
ORDER BY originator_id, originator_version
