-- What was done to the schema, and by whom.
CREATE VIEW failproof.migration_log WITH (security_invoker = true) AS
SELECT number, name, sha256, applied_at FROM failproof.migrations;

-- What `db init` put in place beside the migrations: functions, roles, grants, guards.
CREATE TABLE failproof.installations (
    sha256 text NOT NULL,
    problems text[] NOT NULL,
    installed_by text NOT NULL DEFAULT session_user,
    installed_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE VIEW failproof.installation_log WITH (security_invoker = true) AS
SELECT sha256, problems, installed_by, installed_at FROM failproof.installations;

-- Every change of the schema that the guard let through.
CREATE TABLE failproof.schema_changes (
    command text NOT NULL,
    object text NOT NULL,
    changed_by text NOT NULL DEFAULT session_user,
    changed_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE VIEW failproof.schema_change_log WITH (security_invoker = true) AS
SELECT command, object, changed_by, changed_at FROM failproof.schema_changes;
