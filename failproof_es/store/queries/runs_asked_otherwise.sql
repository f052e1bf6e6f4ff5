-- What the runs after a number set out with that are noted without an asking, in order of number.
SELECT runs.run_id, started.state
FROM failproof.run_asked_list AS runs
JOIN failproof.stored_events AS started
    ON started.originator_id = runs.run_id
    AND started.originator_version = 1
    AND started.topic = 'RunStarted'
WHERE runs.asking_id IS NULL AND runs.run_number > %s
ORDER BY runs.run_number
