-- No row of these tables is ever changed or removed, in any replication mode. The statement triggers see
-- TRUNCATE, and statements that match no row. The row triggers see what reaches the rows by another way:
-- through a parent table, or from a subscription's apply worker. `refuse_change` says which rows may
-- leave for an archive.
DO $$
DECLARE
    guarded text;
BEGIN
    FOREACH guarded IN ARRAY ARRAY[
        'events', 'append_logins', 'archived_events', 'run_numbers',
        'ledger_identity', 'ledger_tiles', 'ledger_checkpoints',
        'migrations', 'installations', 'schema_changes'
    ] LOOP
        EXECUTE format(
            'CREATE TRIGGER statements_change_nothing '
            'BEFORE UPDATE OR DELETE OR TRUNCATE ON failproof.%1$I '
            'FOR EACH STATEMENT EXECUTE FUNCTION failproof.refuse_change(); '
            'CREATE TRIGGER rows_never_change '
            'BEFORE UPDATE OR DELETE ON failproof.%1$I '
            'FOR EACH ROW EXECUTE FUNCTION failproof.refuse_change(); '
            'ALTER TABLE failproof.%1$I ENABLE ALWAYS TRIGGER statements_change_nothing; '
            'ALTER TABLE failproof.%1$I ENABLE ALWAYS TRIGGER rows_never_change',
            guarded
        );
    END LOOP;
END;
$$;
