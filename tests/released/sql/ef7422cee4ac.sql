-- The number of the tree that the log is put into now: a repair begins the next one.
CREATE OR REPLACE FUNCTION failproof.current_tree() RETURNS integer
LANGUAGE sql
STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT max(tree) FROM failproof.ledger_identity;
$$;
