-- Say what these shards of a run have spent by the log. Nothing is reserved for them any more: who held one
-- before cannot record a request for it under its epoch. The caller holds the lease on the one shard that is
-- named, or on the run with all its shards (shard -1). A count that comes after a report of the same
-- holder changes nothing: it is late.
CREATE OR REPLACE FUNCTION failproof.count_spending(
    lease_run_id uuid,
    lease_shard integer,
    lease_epoch bigint,
    shards integer[],
    known numeric[],
    unknown numeric[],
    requests bigint[]
) RETURNS void
LANGUAGE plpgsql
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM failproof.lock_budget(lease_run_id, lease_shard, lease_epoch);
    IF lease_shard >= 0 AND shards <> ARRAY[lease_shard] THEN
        RAISE EXCEPTION 'the lease on shard % counts no other shard', lease_shard
            USING ERRCODE = '22023';
    END IF;
    INSERT INTO failproof.shard_budgets AS s
        (run_id, shard, known_usd, unknown_usd, unknown_requests, reserved_usd, epoch)
    SELECT
        lease_run_id, counted.shard, counted.known, counted.unknown, counted.requests, 0,
        CASE WHEN lease_shard >= 0 THEN lease_epoch ELSE 0 END
    FROM unnest(shards, known, unknown, requests)
        AS counted (shard, known, unknown, requests)
    ON CONFLICT (run_id, shard) DO UPDATE
    SET
        known_usd = excluded.known_usd,
        unknown_usd = excluded.unknown_usd,
        unknown_requests = excluded.unknown_requests,
        reserved_usd = 0,
        epoch = excluded.epoch,
        reports = 0
    WHERE lease_shard < 0 OR s.epoch <> lease_epoch OR s.reports = 0;
END;
$$;
