-- Who may do what with these relations, as the statements that say so.
SELECT format(
    'GRANT %%s ON %%I.%%I TO %%s%%s',
    string_agg(g.privilege_type, ', ' ORDER BY g.privilege_type),
    n.nspname,
    c.relname,
    CASE WHEN g.grantee = 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(g.grantee)) END,
    CASE WHEN g.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END
)
FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace
CROSS JOIN aclexplode(c.relacl) g
WHERE n.nspname = %(schema)s AND c.relname = ANY (%(names)s) AND g.grantee <> c.relowner
GROUP BY n.nspname, c.relname, g.grantee, g.is_grantable
