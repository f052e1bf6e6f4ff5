-- On the embedded server, which nobody but its account can reach, these log in themselves.
-- On any other server they cannot: grant them to logins of your own.
DO $$
BEGIN
    IF EXISTS (
        SELECT FROM pg_roles
        WHERE rolname IN (
                'failproof_writer', 'failproof_projector', 'failproof_auditor', 'failproof_archiver'
            )
            AND NOT rolcanlogin
    ) THEN
        ALTER ROLE failproof_writer LOGIN;
        ALTER ROLE failproof_projector LOGIN;
        ALTER ROLE failproof_auditor LOGIN;
        ALTER ROLE failproof_archiver LOGIN;
    END IF;
END;
$$;
