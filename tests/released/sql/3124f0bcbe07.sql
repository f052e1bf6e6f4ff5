-- A lease changes hands by the next epoch, and in no other way.
CREATE OR REPLACE FUNCTION failproof.refuse_old_epoch() RETURNS trigger
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
