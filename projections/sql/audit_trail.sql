-- The record shape of specification 001 § 8.2, in commit order.
CREATE TABLE audit_trail (
    position bigint PRIMARY KEY,
    event text NOT NULL,
    "timestamp" timestamptz NOT NULL,
    test_run_id uuid,
    details json NOT NULL
);
CREATE INDEX audit_trail_run_idx ON audit_trail (test_run_id, position);

COMMENT ON TABLE audit_trail IS
    'Events of runs, acts of people, and everything that did not go as planned.';
COMMENT ON COLUMN audit_trail.position IS 'The event''s position in the log.';
COMMENT ON COLUMN audit_trail.event IS 'The topic of the event; RetrySent for a repeated request.';
COMMENT ON COLUMN audit_trail."timestamp" IS 'When, by the clock of the process that recorded it.';
COMMENT ON COLUMN audit_trail.test_run_id IS 'The run.';
COMMENT ON COLUMN audit_trail.details IS
    'The rest of the event, with its stream_id; bodies and stack traces are in the log alone.';
