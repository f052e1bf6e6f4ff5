-- Of these runs those that no process drives now: when the last lease ended, or the run began if
-- workers may drive it and none did; and whether workers may drive it.
SELECT
    run.run_id,
    coalesce(max(l.expires_at), max(e.recorded_at)),
    coalesce(bool_or(s.is_open), false)
FROM unnest(%(runs)s::uuid[]) AS run (run_id)
LEFT JOIN failproof.stored_events AS e ON e.originator_id = run.run_id AND e.originator_version = 1
LEFT JOIN failproof.lease_list AS l ON l.run_id = run.run_id
LEFT JOIN failproof.run_shard_list AS s ON s.run_id = run.run_id
GROUP BY run.run_id
HAVING coalesce(max(l.expires_at) <= clock_timestamp(), bool_or(s.is_open))
