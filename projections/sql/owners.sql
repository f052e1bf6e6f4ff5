-- What stands in these schemas and does not belong to who owns the schema.
SELECT 'relation ' || c.oid::regclass, pg_get_userbyid(c.relowner)
FROM pg_class AS c
JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE n.nspname = ANY (%(schemas)s) AND c.relowner <> n.nspowner
UNION ALL
SELECT 'function ' || p.oid::regprocedure, pg_get_userbyid(p.proowner)
FROM pg_proc AS p
JOIN pg_namespace AS n ON n.oid = p.pronamespace
WHERE n.nspname = ANY (%(schemas)s) AND p.proowner <> n.nspowner
ORDER BY 1
