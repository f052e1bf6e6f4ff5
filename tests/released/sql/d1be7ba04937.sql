-- failproof_migrator changes the schema, and `db init` takes this role on to do it. It is
-- the one role whose changes the guard lets through, and records.
DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'failproof_migrator') THEN
        CREATE ROLE failproof_migrator NOLOGIN;
    END IF;
    IF NOT EXISTS (
        SELECT FROM pg_auth_members
        WHERE roleid = 'failproof_owner'::regrole AND member = 'failproof_migrator'::regrole
    ) THEN
        GRANT failproof_owner TO failproof_migrator;
    END IF;
EXCEPTION WHEN duplicate_object OR unique_violation THEN
    NULL; -- made meanwhile from another database: roles belong to the whole server
END;
$$;

-- Whoever made the roles and is no superuser must be let into this one to use it.
DO $$
BEGIN
    PERFORM set_config('role', 'failproof_migrator', true);
    PERFORM set_config('role', 'none', true);
EXCEPTION WHEN insufficient_privilege THEN
    GRANT failproof_migrator TO CURRENT_USER;
END;
$$;
