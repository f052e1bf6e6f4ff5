-- What somebody else built on these relations and dropping them would take away.
WITH ours AS (
    SELECT c.oid
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = %(schema)s AND c.relname = ANY (%(names)s)
)
SELECT DISTINCT
    CASE
        WHEN view.oid IS NULL THEN pg_describe_object(d.classid, d.objid, 0)
        ELSE pg_describe_object('pg_class'::regclass, view.oid, 0)
    END AS dependent
FROM pg_depend d
LEFT JOIN pg_rewrite r ON d.classid = 'pg_rewrite'::regclass AND r.oid = d.objid
LEFT JOIN pg_class view ON view.oid = r.ev_class
LEFT JOIN pg_policy p ON d.classid = 'pg_policy'::regclass AND p.oid = d.objid
LEFT JOIN pg_constraint k ON d.classid = 'pg_constraint'::regclass AND k.oid = d.objid
WHERE d.refclassid = 'pg_class'::regclass
    AND d.refobjid IN (SELECT oid FROM ours)
    AND d.deptype = 'n'
    AND (view.oid IS NULL OR view.oid NOT IN (SELECT oid FROM ours))
    AND d.classid <> 'pg_attrdef'::regclass
    AND (p.polrelid IS NULL OR p.polrelid NOT IN (SELECT oid FROM ours))
    AND (k.conrelid IS NULL OR k.conrelid NOT IN (SELECT oid FROM ours))  -- a CHECK of their own
ORDER BY dependent
