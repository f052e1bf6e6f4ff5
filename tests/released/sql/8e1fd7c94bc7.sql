-- Everything that writes goes through these functions. They run with the rights of their
-- owner and a search path that nobody else can put names into, so that a writer needs no
-- right on any table.
CREATE OR REPLACE FUNCTION failproof.append(
    originator_ids uuid[],
    originator_versions bigint[],
    topics text[],
    states bytea[],
    run_ids uuid[],
    lease_run_id uuid DEFAULT NULL,
    lease_epoch bigint DEFAULT NULL
) RETURNS SETOF bigint
LANGUAGE plpgsql
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    current_epoch bigint;
    appended bigint;
BEGIN
    -- One writer at a time from here to its commit: positions then follow commit order,
    -- and a reader that polls by position never misses an event.
    PERFORM pg_advisory_xact_lock(hashtextextended('failproof.append', 0));
    IF lease_run_id IS NOT NULL THEN
        SELECT epoch INTO current_epoch FROM failproof.leases WHERE run_id = lease_run_id;
        IF current_epoch IS DISTINCT FROM lease_epoch THEN
            RAISE EXCEPTION 'lease of run % lost: this process holds epoch %, the log is at epoch %',
                lease_run_id, lease_epoch, current_epoch
                USING ERRCODE = 'FP001';
        END IF;
    END IF;
    RETURN QUERY
        INSERT INTO failproof.events AS e (originator_id, originator_version, topic, state, run_id)
        SELECT originator_id, originator_version, topic, state, run_id
        FROM unnest(originator_ids, originator_versions, topics, states, run_ids)
            WITH ORDINALITY AS new (originator_id, originator_version, topic, state, run_id, place)
        ORDER BY place
        RETURNING e.notification_id;
    -- A rule or a trigger that somebody added can make an INSERT do less and still succeed.
    GET DIAGNOSTICS appended = ROW_COUNT;
    IF appended <> cardinality(originator_ids) THEN
        RAISE EXCEPTION 'the database swallowed events: % of % were inserted',
            appended, cardinality(originator_ids)
            USING ERRCODE = 'FP003',
                HINT = 'Look for a rule or a trigger on failproof.events that is not ours.';
    END IF;
END;
$$;

CREATE FUNCTION failproof.acquire_lease(lease_run_id uuid, lease_holder text) RETURNS bigint
LANGUAGE plpgsql
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    new_epoch bigint;
BEGIN
    -- Behind this lock no append that names the old epoch is under way.
    PERFORM pg_advisory_xact_lock(hashtextextended('failproof.append', 0));
    INSERT INTO failproof.leases AS l (run_id, epoch, holder)
    VALUES (lease_run_id, 1, lease_holder)
    ON CONFLICT (run_id) DO UPDATE
    SET epoch = l.epoch + 1, holder = excluded.holder, acquired_at = clock_timestamp()
    RETURNING epoch INTO new_epoch;
    RETURN new_epoch;
END;
$$;

-- The number of a new run, NULL when there is a run of this id. Call it in the transaction
-- that records RunStarted: numbers are dense.
CREATE FUNCTION failproof.number_run(new_run_id uuid) RETURNS bigint
LANGUAGE plpgsql
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    new_number bigint;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('failproof.append', 0));
    INSERT INTO failproof.run_numbers (run_number, run_id)
    SELECT coalesce(max(run_number), 0) + 1, new_run_id
    FROM failproof.run_numbers
    HAVING bool_and(run_id <> new_run_id) IS NOT FALSE
    RETURNING run_number INTO new_number;
    RETURN new_number;
END;
$$;

-- The first price recorded for a run's model stays.
CREATE FUNCTION failproof.record_price(
    priced_run_id uuid,
    priced_model_key text,
    input_usd_per_million numeric,
    cached_input_usd_per_million numeric,
    output_usd_per_million numeric,
    price_version text
) RETURNS void
LANGUAGE sql
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
    INSERT INTO failproof.prices VALUES ($1, $2, $3, $4, $5, $6)
    ON CONFLICT DO NOTHING;
$$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA failproof FROM PUBLIC;
