-- What protects the log in this database, from the catalog, for the user who asks.
WITH log_tables AS (
    SELECT c.oid, c.relname, c.relowner
    FROM pg_class c
    JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = 'failproof' AND c.relkind IN ('r', 'p')
),
immutable AS (
    SELECT t.oid
    FROM log_tables t
    JOIN pg_trigger g ON g.tgrelid = t.oid
    JOIN pg_proc p ON p.oid = g.tgfoid AND p.proname = 'refuse_change'
    WHERE g.tgenabled = 'A'
    GROUP BY t.oid
    -- 58: before update, delete, truncate, for each statement. 27: before update, delete,
    -- for each row.
    HAVING bool_or(g.tgtype = 58) AND bool_or(g.tgtype = 27)
)
SELECT
    EXISTS (
        SELECT FROM pg_roles
        WHERE rolname = 'failproof_owner'
            AND NOT (rolcanlogin OR rolsuper OR rolcreaterole OR rolbypassrls)
    )
    AND EXISTS (SELECT FROM log_tables)
    AND NOT EXISTS (
        SELECT FROM pg_namespace n
        LEFT JOIN pg_class c ON c.relnamespace = n.oid
        LEFT JOIN pg_proc p ON p.pronamespace = n.oid
        WHERE n.nspname = 'failproof'
            AND 'failproof_owner' <> ANY (ARRAY[
                pg_get_userbyid(n.nspowner),
                coalesce(pg_get_userbyid(c.relowner), 'failproof_owner'),
                coalesce(pg_get_userbyid(p.proowner), 'failproof_owner')
            ])
    ) AS owner,
    NOT EXISTS (
        SELECT FROM pg_roles
        WHERE rolname IN (current_user, session_user) AND rolsuper
    )
    AND NOT EXISTS (
        SELECT FROM pg_roles
        WHERE rolname IN ('failproof_owner', 'failproof_migrator')
            AND pg_has_role(session_user, oid, 'MEMBER')
    )
    AND NOT EXISTS (
        SELECT FROM log_tables
        WHERE has_table_privilege(oid, 'INSERT, UPDATE, DELETE, TRUNCATE, TRIGGER')
    ) AS least_privilege,
    (
        SELECT count(*) = 7
        FROM immutable JOIN log_tables USING (oid)
        WHERE relname IN (
            'events', 'archived_events', 'append_logins', 'run_numbers',
            'ledger_identity', 'ledger_tiles', 'ledger_checkpoints'
        )
    ) AS immutable_rows,
    (
        SELECT count(*) = 3
        FROM pg_event_trigger
        WHERE evtenabled = 'A'
            AND evtname IN (
                'failproof_definitions_stay',
                'failproof_objects_stay',
                'failproof_rows_are_not_rewritten'
            )
    )
    AND coalesce(current_setting('event_triggers', true), 'on') = 'on' AS guarded_schema,
    EXISTS (
        SELECT FROM pg_proc p
        JOIN pg_namespace n ON n.oid = p.pronamespace
        WHERE n.nspname = 'failproof'
            AND p.proname = 'append'
            AND p.prosecdef
            AND 'search_path=pg_catalog, pg_temp' = ANY (p.proconfig)
    ) AS one_way_in
