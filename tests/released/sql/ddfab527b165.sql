-- One change of a run's budget at a time, and only by who holds the lease at this epoch: on a shard, or on
-- the run with all its shards (shard -1). Returns the run's ceiling.
CREATE OR REPLACE FUNCTION failproof.lock_budget(
    lease_run_id uuid, lease_shard integer, lease_epoch bigint
) RETURNS numeric
LANGUAGE plpgsql
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    present_ceiling numeric;
    current_epoch bigint;
BEGIN
    SELECT b.ceiling_usd INTO present_ceiling
    FROM failproof.run_budgets AS b
    WHERE b.run_id = lease_run_id
    FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'run % has no spend ceiling that workers share', lease_run_id
            USING ERRCODE = 'FP002';
    END IF;
    -- Behind that lock: whoever claimed the shard before is seen.
    SELECT l.epoch INTO current_epoch
    FROM failproof.leases AS l
    WHERE l.run_id = lease_run_id AND l.shard = lease_shard AND (l.alone OR lease_shard >= 0);
    IF (current_epoch = lease_epoch) IS NOT TRUE THEN
        RAISE EXCEPTION
            'lease of run %, shard % lost: this process holds epoch %, the log is at epoch %',
            lease_run_id, lease_shard, lease_epoch, current_epoch
            USING ERRCODE = 'FP001';
    END IF;
    RETURN present_ceiling;
END;
$$;
