-- No row of a table with this trigger is ever changed or removed.
CREATE OR REPLACE FUNCTION failproof.refuse_change() RETURNS trigger
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RAISE EXCEPTION '%.% is append-only: % refused', TG_TABLE_SCHEMA, TG_TABLE_NAME, TG_OP
        USING ERRCODE = 'FP002', HINT = 'Record a new event instead.';
END;
$$;
