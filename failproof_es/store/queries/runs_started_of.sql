-- What these runs set out with, in order of number.
SELECT runs.run_id, started.state
FROM failproof.run_list AS runs
JOIN failproof.stored_events AS started
    ON started.originator_id = runs.run_id
    AND started.originator_version = 1
    AND started.topic = 'RunStarted'
WHERE runs.run_id = ANY (%s)
ORDER BY runs.run_number
