-- One integrator at a time until its transaction ends. The mode: see lock_append.sql.
CREATE OR REPLACE FUNCTION failproof.lock_ledger() RETURNS void
LANGUAGE plpgsql
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    -- Others wait for this lock until the transaction ends: a client that is paused in it is cut off.
    PERFORM set_config('idle_in_transaction_session_timeout', '60s', true);
    LOCK TABLE failproof.ledger_lock IN SHARE UPDATE EXCLUSIVE MODE;
END;
$$;
