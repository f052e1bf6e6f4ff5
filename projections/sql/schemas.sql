-- Where `db init` did not make them, or somebody dropped them.
DO $$
DECLARE
    own_schema text;
BEGIN
    FOREACH own_schema IN ARRAY ARRAY['projections', 'projections_building'] LOOP
        IF to_regnamespace(own_schema) IS NULL THEN
            EXECUTE format('CREATE SCHEMA %I', own_schema);
            IF EXISTS (
                SELECT FROM pg_roles
                WHERE rolname = 'failproof_projector' AND pg_has_role(oid, 'MEMBER')
            ) THEN
                EXECUTE format('ALTER SCHEMA %I OWNER TO failproof_projector', own_schema);
            END IF;
        END IF;
    END LOOP;
EXCEPTION WHEN duplicate_schema OR unique_violation THEN
    NULL; -- another process was faster
END;
$$;
