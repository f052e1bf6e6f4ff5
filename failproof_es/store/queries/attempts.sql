-- Every run of a configuration, whatever became of it.
SELECT runs.run_id
FROM failproof.run_list AS runs
JOIN failproof.stored_events AS started
    ON started.originator_id = runs.run_id AND started.originator_version = 1
WHERE convert_from(started.state, 'UTF8')::json ->> 'configuration_digest' = %s
ORDER BY runs.run_number
