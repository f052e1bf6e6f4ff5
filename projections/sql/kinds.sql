SELECT c.relname, c.relkind, pg_has_role(c.relowner, 'USAGE') AS is_own
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %(schema)s AND c.relname = ANY (%(names)s)
