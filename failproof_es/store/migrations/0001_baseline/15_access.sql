-- Who may read which runs, as `note_access` takes it from the log with each append. The log is what counts:
-- these tables hold nothing that it does not say. What is missing here is seen by no reader.

-- The names and tags by which a project chooses its runs.
CREATE TABLE failproof.run_labels (
    run_id uuid PRIMARY KEY,
    configured_name text,
    given_name text,
    tags text [] NOT NULL DEFAULT '{}',
    annotation bigint NOT NULL DEFAULT 0
);
COMMENT ON TABLE failproof.run_labels IS
    'The configured name of each run, and the name and tags of its last annotation.';
COMMENT ON COLUMN failproof.run_labels.annotation IS
    'The version of that annotation in the stream of the run''s operations; 0: none.';

CREATE TABLE failproof.projects (
    project text PRIMARY KEY,
    run_names text [] NOT NULL,
    tags text [] NOT NULL,
    all_runs boolean NOT NULL
);
COMMENT ON TABLE failproof.projects IS 'The runs of each project, by name (a glob), by tag, or all.';

CREATE TABLE failproof.project_grants (
    project text NOT NULL,
    person text NOT NULL,
    role text NOT NULL,
    PRIMARY KEY (person, project, role)
);
COMMENT ON TABLE failproof.project_grants IS 'The roles that each person has in each project.';

CREATE TABLE failproof.person_logins (
    login text PRIMARY KEY,
    person text NOT NULL
);
COMMENT ON TABLE failproof.person_logins IS 'The person behind a login of the database.';

-- Operations and reviews stand beside a run: their rows do not name it.
CREATE TABLE failproof.side_events (
    notification_id bigint PRIMARY KEY,
    run_id uuid NOT NULL
);
CREATE INDEX side_events_run_idx ON failproof.side_events (run_id);
COMMENT ON TABLE failproof.side_events IS 'The run that an operation or a review is about.';

CREATE VIEW failproof.project_list WITH (security_invoker = true) AS
SELECT project, run_names, tags, all_runs FROM failproof.projects;

CREATE VIEW failproof.project_grant_list WITH (security_invoker = true) AS
SELECT project, person, role FROM failproof.project_grants;

CREATE VIEW failproof.person_login_list WITH (security_invoker = true) AS
SELECT login, person FROM failproof.person_logins;

-- The runs of each project. In a glob `*` stands for any text and `?` for one character.
CREATE VIEW failproof.project_run_list WITH (security_invoker = true) AS
SELECT p.project, l.run_id
FROM failproof.projects AS p
JOIN failproof.run_labels AS l
    ON p.all_runs
    OR l.tags && p.tags
    OR EXISTS (
        SELECT FROM unnest(p.run_names) AS chosen (glob)
        WHERE coalesce(l.given_name, l.configured_name) LIKE translate(
            regexp_replace(chosen.glob, '([\\%_])', '\\\1', 'g'), '*?', '%_'
        )
    );

CREATE TRIGGER access_noted AFTER INSERT ON failproof.events
    FOR EACH ROW
    WHEN (new.run_id IS NULL AND new.topic <> 'PromptStored' OR new.topic = 'RunStarted')
    EXECUTE FUNCTION failproof.note_access();
