-- What stands in these schemas, as definitions that can be compared with what was installed.
-- Whether a trigger is enabled, and who owns what, is said in layers.sql.
WITH relations AS (
    SELECT
        c.oid, c.relkind, c.relrowsecurity, c.relforcerowsecurity, c.reloptions,
        c.relpersistence, c.relispartition,
        n.nspname || '.' || c.relname AS name
    FROM pg_catalog.pg_class AS c
    JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
    WHERE n.nspname = ANY (%(schemas)s) AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
)
SELECT
    CASE r.relkind WHEN 'v' THEN 'view ' WHEN 'm' THEN 'materialized view ' ELSE 'table ' END
    || r.name AS object,
    concat_ws(
        ' ', r.relkind, r.relpersistence, r.relispartition, r.reloptions,
        CASE WHEN r.relkind IN ('v', 'm') THEN pg_catalog.pg_get_viewdef(r.oid) END
    ) AS definition
FROM relations AS r
UNION ALL
SELECT
    'row-level security on ' || r.name,
    concat_ws(' ', r.relrowsecurity, r.relforcerowsecurity)
FROM relations AS r
WHERE r.relrowsecurity OR r.relforcerowsecurity
UNION ALL
SELECT 'inheritance of ' || r.name, ''
FROM relations AS r
WHERE EXISTS (SELECT FROM pg_catalog.pg_inherits AS i WHERE r.oid IN (i.inhparent, i.inhrelid))
UNION ALL
SELECT
    'column ' || r.name || '.' || a.attname,
    concat_ws(
        ' ', pg_catalog.format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attidentity,
        a.attgenerated, pg_catalog.pg_get_expr(d.adbin, d.adrelid)
    )
FROM relations AS r
JOIN pg_catalog.pg_attribute AS a ON a.attrelid = r.oid AND a.attnum > 0 AND NOT a.attisdropped
LEFT JOIN pg_catalog.pg_attrdef AS d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
WHERE r.relkind NOT IN ('v', 'm')
UNION ALL
-- Newer servers list NOT NULL here, too: it is told with the column.
SELECT
    'constraint ' || k.conname || ' on ' || r.name,
    replace(pg_catalog.pg_get_constraintdef(k.oid), ' NOT VALID', '')
FROM relations AS r
JOIN pg_catalog.pg_constraint AS k ON k.conrelid = r.oid AND k.contype <> 'n'
UNION ALL
SELECT 'index ' || i.relname || ' on ' || r.name, pg_catalog.pg_get_indexdef(i.oid)
FROM relations AS r
JOIN pg_catalog.pg_index AS x ON x.indrelid = r.oid
JOIN pg_catalog.pg_class AS i ON i.oid = x.indexrelid
UNION ALL
SELECT 'rule ' || w.rulename || ' on ' || r.name, pg_catalog.pg_get_ruledef(w.oid)
FROM relations AS r
JOIN pg_catalog.pg_rewrite AS w ON w.ev_class = r.oid
WHERE w.rulename <> '_RETURN'
UNION ALL
SELECT
    'policy ' || p.polname || ' on ' || r.name,
    concat_ws(
        ' ', p.polcmd, p.polpermissive,
        (
            SELECT string_agg(
                CASE member WHEN 0 THEN 'PUBLIC' ELSE pg_catalog.pg_get_userbyid(member) END, ', '
                ORDER BY member
            )
            FROM unnest(p.polroles) AS member
        ),
        'USING', pg_catalog.pg_get_expr(p.polqual, p.polrelid),
        'WITH CHECK', pg_catalog.pg_get_expr(p.polwithcheck, p.polrelid)
    )
FROM relations AS r
JOIN pg_catalog.pg_policy AS p ON p.polrelid = r.oid
UNION ALL
SELECT
    'trigger ' || g.tgname || ' on ' || r.name,
    concat_ws(' ', pg_catalog.pg_get_triggerdef(g.oid), g.tgfoid::regprocedure)
FROM relations AS r
JOIN pg_catalog.pg_trigger AS g ON g.tgrelid = r.oid AND NOT g.tgisinternal
UNION ALL
SELECT
    'function ' || p.oid::regprocedure,
    CASE WHEN p.prokind IN ('f', 'p') THEN pg_catalog.pg_get_functiondef(p.oid) ELSE '' END
FROM pg_catalog.pg_proc AS p
JOIN pg_catalog.pg_namespace AS n ON n.oid = p.pronamespace
WHERE n.nspname = ANY (%(schemas)s)
UNION ALL
SELECT
    'event trigger ' || e.evtname, concat_ws(' ', e.evtevent, e.evtfoid::regprocedure, e.evttags)
FROM pg_catalog.pg_event_trigger AS e
WHERE e.evtname LIKE 'failproof%%'
