-- No row of these tables is ever changed or removed, in any replication mode.
CREATE OR REPLACE FUNCTION failproof.refuse_change() RETURNS trigger
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RAISE EXCEPTION '%.% is append-only: % refused', TG_TABLE_SCHEMA, TG_TABLE_NAME, TG_OP
        USING ERRCODE = 'FP002', HINT = 'Record a new event instead.';
END;
$$;

DROP TRIGGER events_are_immutable ON failproof.events;

-- The statement triggers see TRUNCATE, and statements that match no row. The row triggers
-- see what reaches the rows by another way: through a parent table, or from a
-- subscription's apply worker.
DO $$
DECLARE
    guarded text;
BEGIN
    FOREACH guarded IN ARRAY ARRAY[
        'events', 'run_numbers', 'prices', 'migrations', 'installations', 'schema_changes'
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

-- A lease changes hands by the next epoch, and in no other way.
CREATE FUNCTION failproof.refuse_old_epoch() RETURNS trigger
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF NEW.run_id <> OLD.run_id OR NEW.epoch <> OLD.epoch + 1 THEN
        RAISE EXCEPTION 'the lease of run % goes from epoch % to %, not to % of run %',
            OLD.run_id, OLD.epoch, OLD.epoch + 1, NEW.epoch, NEW.run_id
            USING ERRCODE = 'FP002';
    END IF;
    RETURN NEW;
END;
$$;

CREATE TRIGGER epochs_only_grow BEFORE UPDATE ON failproof.leases
    FOR EACH ROW EXECUTE FUNCTION failproof.refuse_old_epoch();
CREATE TRIGGER leases_stay BEFORE DELETE OR TRUNCATE ON failproof.leases
    FOR EACH STATEMENT EXECUTE FUNCTION failproof.refuse_change();
CREATE TRIGGER lease_rows_stay BEFORE DELETE ON failproof.leases
    FOR EACH ROW EXECUTE FUNCTION failproof.refuse_change();
ALTER TABLE failproof.leases ENABLE ALWAYS TRIGGER epochs_only_grow;
ALTER TABLE failproof.leases ENABLE ALWAYS TRIGGER leases_stay;
ALTER TABLE failproof.leases ENABLE ALWAYS TRIGGER lease_rows_stay;

REVOKE ALL ON FUNCTION failproof.refuse_old_epoch() FROM PUBLIC;
