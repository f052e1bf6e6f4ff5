-- Begin the tree that an event on record calls for. Nobody begins one that the log does not tell of.
CREATE OR REPLACE FUNCTION failproof.begin_tree(repair_stream uuid, repair_version bigint) RETURNS integer
LANGUAGE plpgsql
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    repair json;
    old_origin text;
    new_tree integer := failproof.current_tree() + 1;
BEGIN
    PERFORM failproof.lock_ledger();
    SELECT origin INTO old_origin FROM failproof.ledger_identity
    WHERE tree = failproof.current_tree()
    ORDER BY created_at LIMIT 1;
    SELECT convert_from(state, 'UTF8')::json INTO repair FROM failproof.events
    WHERE originator_id = repair_stream AND originator_version = repair_version
        AND topic = 'LedgerRepaired';
    IF repair ->> 'old_origin' IS DISTINCT FROM old_origin
        OR coalesce(repair ->> 'new_origin', '') IN ('', old_origin)
    THEN
        RAISE EXCEPTION 'no event on record replaces the tree of %', old_origin
            USING ERRCODE = 'FP007', HINT = 'Trees are replaced by `failproof-es ledger repair`.';
    END IF;
    INSERT INTO failproof.ledger_identity (origin, tree)
    VALUES (repair ->> 'new_origin', new_tree);
    RETURN new_tree;
END;
$$;
