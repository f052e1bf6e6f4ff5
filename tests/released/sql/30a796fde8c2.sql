-- failproof_projector computes the read models. It reads the log and writes into its own
-- schemas; it has no way to write to the log.
DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'failproof_projector') THEN
        CREATE ROLE failproof_projector NOLOGIN;
    END IF;
    IF NOT EXISTS (
        SELECT FROM pg_auth_members
        WHERE roleid = 'failproof_projector'::regrole AND member = 'failproof_migrator'::regrole
    ) THEN
        GRANT failproof_projector TO failproof_migrator;
    END IF;
EXCEPTION WHEN duplicate_object OR unique_violation THEN
    NULL; -- made meanwhile from another database: roles belong to the whole server
END;
$$;

-- Its schemas, and what stands in them since before there were roles.
DO $$
DECLARE
    projector_id oid := 'failproof_projector'::regrole;
    own_schema text;
    statement text;
BEGIN
    FOREACH own_schema IN ARRAY ARRAY['projections', 'projections_building', 'promptguard'] LOOP
        IF to_regnamespace(own_schema) IS NULL THEN
            EXECUTE format('CREATE SCHEMA %I AUTHORIZATION failproof_projector', own_schema);
        ELSE
            EXECUTE format('ALTER SCHEMA %I OWNER TO failproof_projector', own_schema);
        END IF;
        FOR statement IN
            SELECT format(
                'ALTER %s %s OWNER TO failproof_projector',
                CASE relkind WHEN 'v' THEN 'VIEW' ELSE 'TABLE' END,
                oid::regclass
            )
            FROM pg_class
            WHERE relnamespace = own_schema::regnamespace
                AND relkind IN ('r', 'v')
                AND relowner <> projector_id
            UNION ALL
            SELECT format('ALTER ROUTINE %s OWNER TO failproof_projector', oid::regprocedure)
            FROM pg_proc
            WHERE pronamespace = own_schema::regnamespace AND proowner <> projector_id
        LOOP
            EXECUTE statement;
        END LOOP;
    END LOOP;
END;
$$;

REVOKE ALL ON SCHEMA failproof FROM failproof_projector;
REVOKE ALL ON ALL TABLES IN SCHEMA failproof FROM failproof_projector;
REVOKE ALL ON ALL ROUTINES IN SCHEMA failproof FROM failproof_projector;
GRANT USAGE ON SCHEMA failproof TO failproof_projector;
GRANT EXECUTE ON FUNCTION failproof.cost_usd(json, json, timestamptz) TO failproof_projector;
GRANT SELECT ON
    failproof.stored_events,
    failproof.archived_event_list,
    failproof.run_list,
    failproof.price_list,
    failproof.migration_log,
    failproof.installation_log
TO failproof_projector;
GRANT EXECUTE ON FUNCTION failproof.readable(json) TO failproof_projector;
