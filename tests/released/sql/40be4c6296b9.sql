-- failproof_owner owns the schema and everything in it, and can never log in: nobody is the
-- owner, except through the migrator, for the length of a migration.
DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'failproof_owner') THEN
        CREATE ROLE failproof_owner NOLOGIN;
    END IF;
EXCEPTION WHEN duplicate_object OR unique_violation THEN
    NULL; -- made meanwhile from another database: roles belong to the whole server
END;
$$;
