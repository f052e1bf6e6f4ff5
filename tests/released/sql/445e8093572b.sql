-- failproof_archiver takes the events of an archived run out of the log, and puts them back. It may
-- call the two functions that do it, which refuse everything else, and may read nothing. No other
-- role may call them: the engine's login cannot take anything out.
DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'failproof_archiver') THEN
        CREATE ROLE failproof_archiver NOLOGIN;
    END IF;
EXCEPTION WHEN duplicate_object OR unique_violation THEN
    NULL; -- made meanwhile from another database: roles belong to the whole server
END;
$$;

REVOKE ALL ON SCHEMA failproof FROM failproof_archiver;
REVOKE ALL ON ALL TABLES IN SCHEMA failproof FROM failproof_archiver;
REVOKE ALL ON ALL ROUTINES IN SCHEMA failproof FROM failproof_archiver;
GRANT USAGE ON SCHEMA failproof TO failproof_archiver;
GRANT EXECUTE ON FUNCTION
    failproof.detach_run(uuid, bigint),
    failproof.attach_events(uuid, bigint [], bytea [])
TO failproof_archiver;
