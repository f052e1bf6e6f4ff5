INSERT INTO runs AS r (
    run_id, run_number, name, status, reason, planned, started_at, ended_at, configuration_digest, run
)
VALUES (
    %(run_id)s, %(run_number)s, %(name)s, %(status)s, %(reason)s, %(planned)s, %(started_at)s,
    %(ended_at)s, %(configuration_digest)s, %(run)s
)
ON CONFLICT (run_id) DO UPDATE SET
    status = excluded.status,
    reason = excluded.reason,
    ended_at = CASE WHEN %(ended)s THEN excluded.ended_at ELSE r.ended_at END,
    run = excluded.run
