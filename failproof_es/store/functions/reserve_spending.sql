-- Tell what a shard has spent by now and how much of its reservation is kept, and reserve more below the
-- run's ceiling: what is wanted, less if little is left, nothing if that is less than what is needed. Then
-- all others are asked to give back what they hold unused, and who needs nothing gets nothing more.
--
-- What is told stands for all that was told before: a call whose answer was lost can be made again. Reports
-- have numbers, which grow. One that comes after a newer one is refused; the newest one that comes twice
-- changes nothing and is answered as before.
-- Returns what was reserved more, and the amounts of the whole run. core/spend/slices.py is the model.
CREATE OR REPLACE FUNCTION failproof.reserve_spending(
    lease_run_id uuid,
    lease_shard integer,
    lease_epoch bigint,
    known numeric,
    unknown numeric,
    requests bigint,
    keeps numeric,
    needs numeric,
    wants numeric,
    report_number bigint
) RETURNS TABLE (
    granted_usd numeric,
    run_ceiling_usd numeric,
    run_known_usd numeric,
    run_unknown_usd numeric,
    run_unknown_requests bigint,
    run_reserved_usd numeric,
    is_wanted boolean
)
LANGUAGE plpgsql
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
    free numeric;
    newest bigint;
    held numeric;
BEGIN
    run_ceiling_usd := failproof.lock_budget(lease_run_id, lease_shard, lease_epoch);
    UPDATE failproof.shard_budgets AS s
    SET
        known_usd = known,
        unknown_usd = unknown,
        unknown_requests = requests,
        reserved_usd = keeps,
        epoch = lease_epoch,
        reports = report_number
    WHERE s.run_id = lease_run_id AND s.shard = lease_shard
        AND (s.epoch, s.reports) < (lease_epoch, report_number);
    IF NOT FOUND THEN
        SELECT s.reports, s.reserved_usd INTO newest, held
        FROM failproof.shard_budgets AS s
        WHERE s.run_id = lease_run_id AND s.shard = lease_shard;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'run %, shard %: what it has spent was not counted',
                lease_run_id, lease_shard
                USING ERRCODE = 'FP002';
        ELSIF newest <> report_number THEN
            RAISE EXCEPTION 'run %, shard %: report % comes after report %',
                lease_run_id, lease_shard, report_number, newest
                USING ERRCODE = '40001';
        END IF;
    END IF;
    SELECT sum(s.known_usd), sum(s.unknown_usd), sum(s.unknown_requests), sum(s.reserved_usd)
    INTO run_known_usd, run_unknown_usd, run_unknown_requests, run_reserved_usd
    FROM failproof.shard_budgets AS s
    WHERE s.run_id = lease_run_id;
    free := run_ceiling_usd - run_known_usd - run_unknown_usd - run_reserved_usd;
    granted_usd := 0;
    SELECT b.wanted_until > clock_timestamp() INTO is_wanted
    FROM failproof.run_budgets AS b
    WHERE b.run_id = lease_run_id;
    IF newest IS NOT NULL THEN
        granted_usd := held - keeps;
    ELSIF needs > greatest(free, 0) THEN
        UPDATE failproof.run_budgets AS b
        SET wanted_until = clock_timestamp() + interval '2 seconds'
        WHERE b.run_id = lease_run_id;
        is_wanted := true;
    ELSIF needs > 0 OR NOT is_wanted THEN
        granted_usd := greatest(needs, least(wants, trunc(free / 8, 12)), 0);
        run_reserved_usd := run_reserved_usd + granted_usd;
        UPDATE failproof.shard_budgets AS s
        SET reserved_usd = s.reserved_usd + granted_usd
        WHERE s.run_id = lease_run_id AND s.shard = lease_shard AND granted_usd > 0;
    END IF;
    RETURN NEXT;
END;
$$;
