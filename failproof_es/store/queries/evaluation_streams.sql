-- How many streams are filed under a run, beside its own.
SELECT count(DISTINCT originator_id) FROM failproof.stored_events
WHERE run_id = %s AND originator_id <> %s
