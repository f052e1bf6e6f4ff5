INSERT INTO runs (run_id, run_number, name, status, planned, started_at, configuration_digest)
VALUES (%s, %s, %s, 'running', %s, %s, %s)
