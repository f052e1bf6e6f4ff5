-- The number of a new run, NULL when there is a run of this id. Call it in the transaction
-- that records RunStarted: numbers are dense.
CREATE OR REPLACE FUNCTION failproof.number_run(new_run_id uuid) RETURNS bigint
LANGUAGE plpgsql
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    new_number bigint;
BEGIN
    PERFORM failproof.lock_append();
    INSERT INTO failproof.run_numbers (run_number, run_id)
    SELECT coalesce(max(run_number), 0) + 1, new_run_id
    FROM failproof.run_numbers
    HAVING bool_and(run_id <> new_run_id) IS NOT FALSE
    RETURNING run_number INTO new_number;
    RETURN new_number;
END;
$$;
