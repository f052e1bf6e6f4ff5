-- failproof_writer is who the engine is: it appends through functions and reads through
-- views. It may take on the projector's role for the read models, and inherits none of it.
DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'failproof_writer') THEN
        CREATE ROLE failproof_writer NOLOGIN NOINHERIT;
    END IF;
    IF NOT EXISTS (
        SELECT FROM pg_auth_members
        WHERE roleid = 'failproof_projector'::regrole AND member = 'failproof_writer'::regrole
    ) THEN
        GRANT failproof_projector TO failproof_writer;
    END IF;
EXCEPTION WHEN duplicate_object OR unique_violation THEN
    NULL; -- made meanwhile from another database: roles belong to the whole server
END;
$$;

REVOKE ALL ON SCHEMA failproof FROM failproof_writer;
REVOKE ALL ON ALL TABLES IN SCHEMA failproof FROM failproof_writer;
REVOKE ALL ON ALL ROUTINES IN SCHEMA failproof FROM failproof_writer;
GRANT USAGE ON SCHEMA failproof TO failproof_writer;
GRANT EXECUTE ON FUNCTION
    failproof.append(uuid [], bigint [], text [], bytea [], uuid [], uuid, bigint),
    failproof.acquire_lease(uuid, text),
    failproof.number_run(uuid),
    failproof.record_price(uuid, text, numeric, numeric, numeric, text)
TO failproof_writer;
GRANT SELECT ON
    failproof.stored_events,
    failproof.event_log,
    failproof.run_list,
    failproof.lease_list,
    failproof.price_list,
    failproof.migration_log,
    failproof.installation_log,
    failproof.schema_change_log
TO failproof_writer;
