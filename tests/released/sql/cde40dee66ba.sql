-- One writer at a time from here to its commit: positions then follow commit order, and a
-- reader that polls by position never misses an event.
--
-- This mode keeps out itself, and nothing that a session without a right on the table can take
-- hold of by preparing a statement (ACCESS SHARE to ROW EXCLUSIVE, before rights are checked).
CREATE OR REPLACE FUNCTION failproof.lock_append() RETURNS void
LANGUAGE plpgsql
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    -- Every append waits for this lock until the transaction ends: a client that is paused in it is cut off.
    PERFORM set_config('idle_in_transaction_session_timeout', '10s', true);
    LOCK TABLE failproof.append_lock IN SHARE UPDATE EXCLUSIVE MODE;
END;
$$;
