-- Everything in the schema belongs to the owner, whoever made it, and PUBLIC may nothing.
DO $$
DECLARE
    owner_id oid := 'failproof_owner'::regrole;
    statement text;
BEGIN
    FOR statement IN
        SELECT format('ALTER SCHEMA %I OWNER TO failproof_owner', nspname)
        FROM pg_namespace
        WHERE nspname = 'failproof' AND nspowner <> owner_id
        UNION ALL
        SELECT format(
            'ALTER %s failproof.%I OWNER TO failproof_owner',
            CASE relkind WHEN 'v' THEN 'VIEW' WHEN 'm' THEN 'MATERIALIZED VIEW' ELSE 'TABLE' END,
            relname
        )
        FROM pg_class
        WHERE relnamespace = 'failproof'::regnamespace
            AND relkind IN ('r', 'p', 'v', 'm')
            AND relowner <> owner_id
        UNION ALL
        SELECT format('ALTER ROUTINE %s OWNER TO failproof_owner', oid::regprocedure)
        FROM pg_proc
        WHERE pronamespace = 'failproof'::regnamespace AND proowner <> owner_id
    LOOP
        EXECUTE statement;
    END LOOP;
END;
$$;

REVOKE ALL ON SCHEMA failproof FROM PUBLIC;
REVOKE ALL ON ALL TABLES IN SCHEMA failproof FROM PUBLIC;
REVOKE ALL ON ALL ROUTINES IN SCHEMA failproof FROM PUBLIC;
