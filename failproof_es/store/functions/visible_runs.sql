-- The runs of the projects in which the person has a role.
CREATE OR REPLACE FUNCTION failproof.visible_runs() RETURNS SETOF uuid
LANGUAGE sql
STABLE
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT DISTINCT r.run_id
    FROM failproof.project_run_list AS r
    WHERE r.project IN (
        SELECT g.project FROM failproof.project_grants AS g
        WHERE g.person = failproof.reading_person()
    );
$$;
