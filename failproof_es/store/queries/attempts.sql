-- Every run of a configuration, whatever became of it. The digest is looked for in the bytes:
-- PostgreSQL's json operators refuse a payload with \u0000 anywhere in it, and in JSON this
-- text, quotes included, can't stand inside a string.
SELECT runs.run_id
FROM failproof.run_list AS runs
JOIN failproof.stored_events AS started
    ON started.originator_id = runs.run_id AND started.originator_version = 1
WHERE position(convert_to('"configuration_digest":"' || %s::text || '"', 'UTF8') IN started.state) > 0
ORDER BY runs.run_number
