-- Settings that a role of ours, this very user or everybody begins a session with, and with
-- which the server would answer otherwise than it was asked. Nothing of ours sets any.
SELECT format(
    'setting %%s = %%s of %%s', given.name, given.value,
    CASE s.setrole WHEN 0 THEN 'every role' ELSE 'the role ' || s.setrole::regrole END
) AS object
FROM pg_catalog.pg_db_role_setting AS s
CROSS JOIN LATERAL (
    SELECT split_part(entry, '=', 1) AS name, substr(entry, strpos(entry, '=') + 1) AS value
    FROM unnest(s.setconfig) AS entry
) AS given
LEFT JOIN pg_catalog.pg_roles AS r ON r.oid = s.setrole
WHERE (
    s.setdatabase = 0
    OR s.setdatabase = (
        SELECT oid FROM pg_catalog.pg_database WHERE datname = pg_catalog.current_database()
    )
)
AND (
    (
        r.rolname = ANY (%(roles)s)
        AND given.name IN (
            'search_path', 'role', 'session_authorization', 'session_replication_role',
            'event_triggers', 'row_security', 'session_preload_libraries',
            'local_preload_libraries', 'transform_null_equals', 'standard_conforming_strings',
            'backslash_quote', 'quote_all_identifiers', 'bytea_output', 'client_encoding',
            'default_transaction_read_only'
        )
    )
    OR (
        (s.setrole = 0 OR r.rolname = session_user)
        AND (
            given.name IN (
                'role', 'session_authorization', 'session_replication_role', 'event_triggers'
            )
            -- Where it is not named, pg_catalog comes first.
            OR (
                given.name = 'search_path'
                AND given.value ~ 'pg_catalog'
                AND given.value !~ '^\s*"?pg_catalog'
            )
        )
    )
)
ORDER BY 1
