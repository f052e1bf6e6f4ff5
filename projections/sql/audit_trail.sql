-- The record shape of specification 001 § 8.2, in commit order.
CREATE TABLE audit_trail (
    position bigint PRIMARY KEY,
    event text NOT NULL,
    "timestamp" timestamptz NOT NULL,
    test_run_id uuid,
    details json NOT NULL
);
CREATE INDEX audit_trail_run_idx ON audit_trail (test_run_id, position);
