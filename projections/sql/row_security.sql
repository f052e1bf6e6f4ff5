-- The row security of the tables in these schemas that have none yet: failproof_reader sees the rows of the
-- runs of its person's projects, everybody else what was granted to them. A table that names no run shows
-- a reader nothing. Views ask on behalf of their reader. Nothing is done where the roles are not ours.
DO $$
DECLARE
    relation record;
BEGIN
    IF NOT EXISTS (
        SELECT FROM pg_namespace AS n
        JOIN pg_roles AS owner ON owner.oid = n.nspowner
        WHERE n.nspname = 'failproof' AND owner.rolname = 'failproof_owner'
    ) THEN
        RETURN;
    END IF;
    FOR relation IN
        SELECT
            format('%I.%I', n.nspname, c.relname) AS name,
            c.relkind,
            CASE
                WHEN c.relname = 'positions' THEN 'true'
                WHEN c.relname IN ('prompts', 'command_cases')
                    THEN 'prompt_id IN (SELECT failproof.visible_prompts())'
                ELSE coalesce(
                    (
                        SELECT format('%I IN (SELECT failproof.visible_runs())', a.attname)
                        FROM pg_attribute AS a
                        WHERE a.attrelid = c.oid
                            AND a.attname IN ('run_id', 'test_run_id')
                            AND a.atttypid = 'uuid'::regtype
                            AND NOT a.attisdropped
                        ORDER BY a.attname
                        LIMIT 1
                    ),
                    'false'
                )
            END AS rows_of_reader
        FROM pg_class AS c
        JOIN pg_namespace AS n ON n.oid = c.relnamespace
        WHERE n.nspname IN ('projections', 'projections_building')
            AND pg_has_role(c.relowner, 'USAGE')
            AND (
                c.relkind IN ('r', 'p')
                AND NOT EXISTS (
                    SELECT FROM pg_policy AS p WHERE p.polrelid = c.oid AND p.polname = 'readers'
                )
                OR c.relkind = 'v'
                AND ('security_invoker=true' = ANY (c.reloptions)) IS NOT TRUE
            )
    LOOP
        IF relation.relkind = 'v' THEN
            EXECUTE format('ALTER VIEW %s SET (security_invoker = true)', relation.name);
        ELSE
            EXECUTE format(
                'CREATE POLICY everybody ON %1$s USING (true); '
                'CREATE POLICY readers ON %1$s AS RESTRICTIVE TO failproof_reader USING (%2$s); '
                'ALTER TABLE %1$s ENABLE ROW LEVEL SECURITY',
                relation.name, relation.rows_of_reader
            );
        END IF;
        EXECUTE format('GRANT SELECT ON %s TO failproof_reader', relation.name);
    END LOOP;
END;
$$;
