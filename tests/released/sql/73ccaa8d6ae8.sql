-- Record a signed checkpoint of this log's tree; the same note twice is recorded once. The
-- signature cannot be checked here: whoever reads a checkpoint does.
CREATE OR REPLACE FUNCTION failproof.add_checkpoint(new_tree_size bigint, new_note text)
RETURNS void
LANGUAGE plpgsql
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    said text[] := string_to_array(new_note, E'\n');
    this_log text;
BEGIN
    PERFORM failproof.lock_ledger();
    SELECT origin INTO this_log FROM failproof.ledger_identity
    WHERE tree = failproof.current_tree()
    ORDER BY created_at LIMIT 1;
    IF said[1:3] IS DISTINCT FROM ARRAY[
        this_log, new_tree_size::text, encode(failproof.tree_root(new_tree_size), 'base64')
    ] THEN
        RAISE EXCEPTION
            'checkpoint of % events refused: it does not name this log and the root of its tree',
            new_tree_size
            USING ERRCODE = 'FP006';
    END IF;
    INSERT INTO failproof.ledger_checkpoints (tree_size, note) VALUES (new_tree_size, new_note)
    ON CONFLICT DO NOTHING;
END;
$$;
