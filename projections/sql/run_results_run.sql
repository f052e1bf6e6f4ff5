INSERT INTO runs (
    run_id, run_number, name, status, reason, planned, started_at, ended_at, configuration_digest, run
)
VALUES (
    %(run_id)s, %(run_number)s, %(name)s, %(status)s, %(reason)s, %(planned)s, %(started_at)s,
    %(ended_at)s, %(configuration_digest)s, %(run)s
)
ON CONFLICT (run_id) DO UPDATE SET
    status = excluded.status,
    reason = excluded.reason,
    ended_at = excluded.ended_at,
    run = excluded.run
