-- What each function in the schema does; NULL where it is not written out as text.
SELECT p.oid::regprocedure::text AS function, coalesce(p.prosrc, '') AS body
FROM pg_catalog.pg_proc AS p
JOIN pg_catalog.pg_namespace AS n ON n.oid = p.pronamespace
WHERE n.nspname = 'failproof'
ORDER BY 1
