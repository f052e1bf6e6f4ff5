-- Let workers drive a run below this spend ceiling, in US dollars, from now on. The caller holds the lease on the
-- run with all its shards; an epoch of NULL is for the transaction that plans the run, before anybody has
-- held a lease of it. Changes under an epoch have numbers, which grow: one that comes late is refused.
CREATE OR REPLACE FUNCTION failproof.begin_budget(
    budget_run_id uuid, lease_epoch bigint, change_number bigint, new_ceiling_usd numeric
) RETURNS void
LANGUAGE plpgsql
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    recorded record;
    current_epoch bigint;
BEGIN
    INSERT INTO failproof.run_budgets AS b (run_id, ceiling_usd)
    VALUES (budget_run_id, new_ceiling_usd)
    ON CONFLICT (run_id) DO NOTHING;
    IF lease_epoch IS NULL THEN
        IF NOT FOUND OR EXISTS (SELECT FROM failproof.leases AS l WHERE l.run_id = budget_run_id) THEN
            RAISE EXCEPTION 'the spend ceiling of run % is set under the lease on the whole run',
                budget_run_id
                USING ERRCODE = 'FP001';
        END IF;
        RETURN;
    END IF;
    SELECT b.epoch, b.changes INTO recorded
    FROM failproof.run_budgets AS b
    WHERE b.run_id = budget_run_id
    FOR UPDATE;
    -- Behind that lock: whoever claimed the run before is seen.
    SELECT l.epoch INTO current_epoch
    FROM failproof.leases AS l
    WHERE l.run_id = budget_run_id AND l.shard = -1 AND l.alone;
    IF (current_epoch = lease_epoch) IS NOT TRUE THEN
        RAISE EXCEPTION 'lease of run % lost: this process holds epoch %, the log is at epoch %',
            budget_run_id, lease_epoch, current_epoch
            USING ERRCODE = 'FP001';
    END IF;
    IF (recorded.epoch, recorded.changes) > (lease_epoch, change_number) THEN
        RAISE EXCEPTION 'run %: change % of its spend ceiling comes after change %',
            budget_run_id, change_number, recorded.changes
            USING ERRCODE = '40001';
    END IF;
    UPDATE failproof.run_budgets AS b
    SET
        ceiling_usd = new_ceiling_usd,
        wanted_until = '-infinity',
        epoch = lease_epoch,
        changes = change_number
    WHERE b.run_id = budget_run_id;
END;
$$;
