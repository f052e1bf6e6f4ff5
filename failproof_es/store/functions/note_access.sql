-- Takes what decides on access from an event that was just appended. An event that cannot be read is
-- left out, and shows nobody anything.
CREATE OR REPLACE FUNCTION failproof.note_access() RETURNS trigger
LANGUAGE plpgsql
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    said json;
    about uuid;
BEGIN
    said := failproof.readable(convert_from(new.state, 'UTF8')::json);
    IF new.topic = 'RunStarted' THEN
        IF new.run_id = new.originator_id AND new.originator_version = 1 THEN
            INSERT INTO failproof.run_labels (run_id, configured_name)
            VALUES (new.run_id, said ->> 'name')
            ON CONFLICT (run_id) DO UPDATE SET configured_name = excluded.configured_name;
        END IF;
        RETURN NULL;
    END IF;
    IF new.originator_id = failproof.digest_uuid(sha256('access\012'::bytea)) THEN
        CASE new.topic
            WHEN 'ProjectDefined' THEN
                INSERT INTO failproof.projects (project, run_names, tags, all_runs)
                SELECT
                    said ->> 'project',
                    ARRAY(SELECT json_array_elements_text(said -> 'run_names')),
                    ARRAY(SELECT json_array_elements_text(said -> 'tags')),
                    (said ->> 'all_runs')::boolean
                ON CONFLICT (project) DO UPDATE
                SET run_names = excluded.run_names, tags = excluded.tags, all_runs = excluded.all_runs;
            WHEN 'RoleGranted' THEN
                INSERT INTO failproof.project_grants (project, person, role)
                VALUES (said ->> 'project', said ->> 'person', said ->> 'role')
                ON CONFLICT DO NOTHING;
            WHEN 'RoleRevoked' THEN
                DELETE FROM failproof.project_grants AS g
                WHERE g.project = said ->> 'project'
                    AND g.person = said ->> 'person'
                    AND g.role = said ->> 'role';
            WHEN 'LoginAssigned' THEN
                DELETE FROM failproof.person_logins AS l WHERE l.login = said ->> 'login';
                INSERT INTO failproof.person_logins (login, person)
                SELECT said ->> 'login', said ->> 'person' WHERE said ->> 'person' IS NOT NULL;
            ELSE
                NULL;
        END CASE;
        RETURN NULL;
    END IF;
    about := (said ->> 'about')::uuid;
    IF about IS NULL THEN
        RETURN NULL;
    END IF;
    INSERT INTO failproof.side_events (notification_id, run_id)
    VALUES (new.notification_id, about);
    IF new.topic = 'RunAnnotated'
        AND new.originator_id = failproof.digest_uuid(
            sha256(convert_to('operations' || chr(10) || about::text, 'UTF8'))
        )
    THEN
        INSERT INTO failproof.run_labels (run_id, given_name, tags, annotation)
        SELECT
            about,
            said ->> 'name',
            ARRAY(SELECT json_array_elements_text(said -> 'tags')),
            new.originator_version
        ON CONFLICT (run_id) DO UPDATE
        SET given_name = excluded.given_name, tags = excluded.tags, annotation = excluded.annotation
        WHERE run_labels.annotation < excluded.annotation;
    END IF;
    RETURN NULL;
EXCEPTION
    WHEN data_exception OR integrity_constraint_violation OR program_limit_exceeded THEN
        RETURN NULL;
END;
$$;
