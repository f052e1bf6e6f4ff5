-- Every stream that is filed under a run, beside its own.
SELECT DISTINCT originator_id FROM failproof.stored_events
WHERE run_id = %s AND originator_id <> %s
