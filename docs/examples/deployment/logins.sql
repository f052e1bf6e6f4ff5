-- The logins of a deployment: `worker` drives runs, `auditor` reads. Run it after `failproof-es db init`,
-- as the same user; running it again sets the passwords anew:
--   failproof-es db shell -- --file=logins.sql
-- WORKER_PASSWORD_FILE and AUDITOR_PASSWORD_FILE name the files that hold the passwords.
-- An auditor takes no more than 20 of the server's connections (docs/reference/roles.md).
\set ON_ERROR_STOP on
\set worker_password `cat "$WORKER_PASSWORD_FILE"`
\set auditor_password `cat "$AUDITOR_PASSWORD_FILE"`

SELECT '' IN (:'worker_password', :'auditor_password') AS one_is_empty \gset
\if :one_is_empty
DO $$ BEGIN
    RAISE EXCEPTION 'WORKER_PASSWORD_FILE or AUDITOR_PASSWORD_FILE names no file that holds a password';
END $$;
\endif

BEGIN;
SELECT format('CREATE ROLE %I LOGIN', wanted.name)
FROM (VALUES ('worker'), ('auditor')) AS wanted (name)
WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = wanted.name) \gexec
ALTER ROLE worker PASSWORD :'worker_password';
ALTER ROLE auditor PASSWORD :'auditor_password' CONNECTION LIMIT 20;
GRANT failproof_writer TO worker;
GRANT failproof_auditor TO auditor;
COMMIT;
