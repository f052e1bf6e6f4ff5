-- A run comes back whole or not at all, however the function that puts events back is called: the first call in
-- a transaction notes the run here, and its end is refused unless all of the run is in the log again.
-- Empty between transactions: the check takes the note away.
CREATE TABLE failproof.runs_being_attached (
    run_id uuid PRIMARY KEY
);
COMMENT ON TABLE failproof.runs_being_attached IS
    'Runs that a transaction is attaching: it can commit only when the whole of them is in the log.';

-- The body comes in `functions/`.
CREATE FUNCTION failproof.require_whole_run() RETURNS trigger
LANGUAGE plpgsql
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RAISE EXCEPTION 'not installed yet' USING ERRCODE = 'FP008';
END;
$$;
CREATE CONSTRAINT TRIGGER attached_whole_or_not_at_all
    AFTER INSERT ON failproof.runs_being_attached
    DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION failproof.require_whole_run();
ALTER TABLE failproof.runs_being_attached ENABLE ALWAYS TRIGGER attached_whole_or_not_at_all;
