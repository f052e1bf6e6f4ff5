-- The one way into the log.
CREATE OR REPLACE FUNCTION failproof.append(
    originator_ids uuid[],
    originator_versions bigint[],
    topics text[],
    states bytea[],
    run_ids uuid[],
    leaf_hashes bytea[],
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
    wrong record;
BEGIN
    -- An event under a wrong leaf would stop the ledger for good. Looked at before others wait.
    SELECT new.stream, new.version INTO wrong
    FROM unnest(originator_ids, originator_versions, topics, states, leaf_hashes)
        AS new (stream, version, topic, state, leaf)
    WHERE new.leaf IS DISTINCT FROM failproof.leaf_of(
        new.stream, new.version, new.topic, new.state
    )
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'stream % version %: the leaf is not what the event hashes to',
            wrong.stream, wrong.version
            USING ERRCODE = 'FP005';
    END IF;
    PERFORM failproof.lock_append();
    IF lease_run_id IS NOT NULL THEN
        SELECT epoch INTO current_epoch FROM failproof.leases WHERE run_id = lease_run_id;
        IF current_epoch IS DISTINCT FROM lease_epoch THEN
            RAISE EXCEPTION 'lease of run % lost: this process holds epoch %, the log is at epoch %',
                lease_run_id, lease_epoch, current_epoch
                USING ERRCODE = 'FP001';
        END IF;
    END IF;
    RETURN QUERY
        INSERT INTO failproof.events AS e
            (originator_id, originator_version, topic, state, run_id, leaf_hash)
        SELECT originator_id, originator_version, topic, state, run_id, leaf_hash
        FROM unnest(originator_ids, originator_versions, topics, states, run_ids, leaf_hashes)
            WITH ORDINALITY AS new
                (originator_id, originator_version, topic, state, run_id, leaf_hash, place)
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
