-- What the log's readers read: views, so that no reader needs a right on a table.

-- What `db init` put in place beside the migrations: roles, grants, guards.
CREATE TABLE failproof.installations (
    sha256 text NOT NULL,
    problems text[] NOT NULL,
    installed_by text NOT NULL DEFAULT session_user,
    installed_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- Every change of the schema that the guard let through.
CREATE TABLE failproof.schema_changes (
    command text NOT NULL,
    object text NOT NULL,
    changed_by text NOT NULL DEFAULT session_user,
    changed_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE VIEW failproof.stored_events AS
SELECT
    notification_id,
    originator_id,
    originator_version,
    topic,
    state,
    run_id,
    recorded_at
FROM failproof.events;

COMMENT ON VIEW failproof.stored_events IS
    'The log with each event''s exact bytes, for programs. event_log is for people.';

CREATE VIEW failproof.run_list AS SELECT run_number, run_id FROM failproof.run_numbers;

CREATE VIEW failproof.lease_list AS SELECT run_id, epoch, holder, acquired_at FROM failproof.leases;

CREATE VIEW failproof.price_list AS
SELECT
    run_id,
    model_key,
    input_usd_per_million,
    cached_input_usd_per_million,
    output_usd_per_million,
    price_version
FROM failproof.prices;

CREATE VIEW failproof.migration_log AS
SELECT number, name, sha256, applied_at FROM failproof.migrations;

CREATE VIEW failproof.installation_log AS
SELECT sha256, problems, installed_by, installed_at FROM failproof.installations;

CREATE VIEW failproof.schema_change_log AS
SELECT command, object, changed_by, changed_at FROM failproof.schema_changes;
