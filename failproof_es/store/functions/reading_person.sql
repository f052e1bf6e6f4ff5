-- The person whose rows a session with the rights of failproof_reader sees; NULL: none. A login that may
-- read everything by another role names the person; any other login is the person that it was assigned to.
CREATE OR REPLACE FUNCTION failproof.reading_person() RETURNS text
LANGUAGE sql
STABLE
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT CASE
        WHEN pg_has_role(session_user, 'failproof_auditor', 'MEMBER')
            OR pg_has_role(session_user, 'failproof_writer', 'MEMBER')
        THEN nullif(current_setting('failproof.person', true), '')
        ELSE (SELECT l.person FROM failproof.person_logins AS l WHERE l.login = session_user::text)
    END;
$$;
