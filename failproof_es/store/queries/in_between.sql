-- What stands between the log's tables and whoever reads or appends, and is not ours.
WITH log_tables AS (
    SELECT c.oid, c.relname, c.relkind, c.relrowsecurity
    FROM pg_catalog.pg_class AS c
    JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
    WHERE n.nspname = 'failproof' AND c.relkind IN ('r', 'p')
),
-- The views that the log is verified through: the table's columns, all rows, nothing else.
plain_views (view_name, table_name, column_names) AS (
    VALUES
    (
        'stored_events', 'events',
        'notification_id, originator_id, originator_version, topic, state, run_id, recorded_at, '
        'leaf_hash'
    ),
    ('run_list', 'run_numbers', 'run_number, run_id'),
    ('ledger_origin', 'ledger_identity', 'origin, created_at, tree'),
    (
        'ledger_tile_list', 'ledger_tiles',
        'level, tile, width, hashes, positions, integrated_at, tree'
    ),
    ('checkpoint_list', 'ledger_checkpoints', 'checkpoint_id, tree_size, note, recorded_at, tree')
)
SELECT true AS hides_rows, 'row-level security stands on failproof.' || relname AS what
FROM log_tables
WHERE relrowsecurity
UNION ALL
SELECT false, format('the rule %s stands on failproof.%s', r.rulename, t.relname)
FROM log_tables AS t
JOIN pg_catalog.pg_rewrite AS r ON r.ev_class = t.oid
UNION ALL
SELECT false, format('the trigger %s stands on failproof.%s', g.tgname, t.relname)
FROM log_tables AS t
JOIN pg_catalog.pg_trigger AS g ON g.tgrelid = t.oid AND NOT g.tgisinternal
WHERE g.tgfoid NOT IN (
    'failproof.refuse_change()'::regprocedure, 'failproof.refuse_old_epoch()'::regprocedure
)
UNION ALL
SELECT false, format('failproof.%s is parent or child of another table', t.relname)
FROM log_tables AS t
WHERE EXISTS (
    SELECT FROM pg_catalog.pg_inherits WHERE t.oid IN (inhparent, inhrelid)
)
UNION ALL
SELECT false, format('the view failproof.%s does not show failproof.%s as it is',
    v.view_name, v.table_name)
FROM plain_views AS v
LEFT JOIN log_tables AS t ON t.relname = v.table_name AND t.relkind = 'r'
WHERE t.oid IS NULL
    OR format('SELECT %s FROM failproof.%s;', v.column_names, v.table_name) <> replace(
        -- Older servers name the table before each column.
        btrim(regexp_replace(
            pg_get_viewdef(to_regclass('failproof.' || v.view_name)), '\s+', ' ', 'g'
        )),
        v.table_name || '.', ''
    )
ORDER BY 1 DESC, 2
