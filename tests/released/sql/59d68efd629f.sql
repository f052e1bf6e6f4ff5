-- The number of a new run, NULL when there is a run of this id. Call it in the transaction
-- that records RunStarted: numbers are dense. What it costs does not depend on how many there are.
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
    SELECT coalesce((SELECT max(run_number) FROM failproof.run_numbers), 0) + 1, new_run_id
    WHERE NOT EXISTS (SELECT FROM failproof.run_numbers WHERE run_id = new_run_id)
    RETURNING run_number INTO new_number;
    RETURN new_number;
END;
$$;
