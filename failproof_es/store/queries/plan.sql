-- The plan of a run, which stands on its own stream.
SELECT state
FROM failproof.stored_events
WHERE originator_id = %s AND topic = 'CasesPlanned'
ORDER BY originator_version
