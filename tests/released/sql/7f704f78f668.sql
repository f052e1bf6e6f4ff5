-- The one way into the log.
CREATE OR REPLACE FUNCTION failproof.append(
    originator_ids uuid[],
    originator_versions bigint[],
    topics text[],
    states bytea[],
    run_ids uuid[],
    leaf_hashes bytea[],
    lease_run_ids uuid[] DEFAULT NULL,
    lease_shards integer[] DEFAULT NULL,
    lease_epochs bigint[] DEFAULT NULL
) RETURNS SETOF bigint
LANGUAGE plpgsql
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    lost record;
    appended bigint;
    wrong record;
    moment timestamptz;
BEGIN
    IF num_nulls(lease_run_ids, lease_shards, lease_epochs) <> 3
        AND (
            cardinality(lease_run_ids) > 0
            AND cardinality(lease_run_ids) = cardinality(lease_shards)
            AND cardinality(lease_run_ids) = cardinality(lease_epochs)
        ) IS NOT TRUE
    THEN
        RAISE EXCEPTION 'leases are named by run, shard and epoch: three arrays of one length, above 0'
            USING ERRCODE = '22023';
    END IF;
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
    -- The streams of an archived run are not in the log, and have not ended there either.
    SELECT new.stream INTO wrong FROM unnest(originator_ids) AS new (stream)
    WHERE EXISTS (
        SELECT FROM failproof.archived_events AS a WHERE a.originator_id = new.stream
    )
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'stream % belongs to a run that is archived', wrong.stream
            USING ERRCODE = 'FP008', HINT = 'Attach it with `failproof-es attach`.';
    END IF;
    -- Each lease that is named must be at the epoch that is named with it. Whether it has ended does not
    -- matter here: nobody has taken it over, so what its holder still has to say is worth keeping.
    IF lease_run_ids IS NOT NULL THEN
        SELECT held.run_id, held.shard, held.epoch, held.current_epoch INTO lost
        FROM (
            SELECT named.run_id, named.shard, named.epoch, (
                SELECT l.epoch FROM failproof.leases AS l
                WHERE l.run_id = named.run_id AND l.shard = named.shard
            ) AS current_epoch
            FROM unnest(lease_run_ids, lease_shards, lease_epochs)
                AS named (run_id, shard, epoch)
        ) AS held
        WHERE (held.current_epoch = held.epoch) IS NOT TRUE
        LIMIT 1;
        IF FOUND THEN
            RAISE EXCEPTION
                'lease of run %, shard % lost: this process holds epoch %, the log is at epoch %',
                lost.run_id, lost.shard, lost.epoch, lost.current_epoch
                USING ERRCODE = 'FP001';
        END IF;
    END IF;
    -- Several writers share the stream of a run, and that of its operations. Whoever comes second gets no
    -- row and appends nothing: an error would stand in the server's log each time.
    IF EXISTS (
        SELECT FROM unnest(originator_ids, originator_versions, run_ids)
            AS new (stream, version, run_id)
        WHERE (new.run_id IS NULL OR new.run_id = new.stream)
            AND (
                SELECT true FROM failproof.events AS e
                WHERE e.originator_id = new.stream AND e.originator_version = new.version
            )
    ) THEN
        RETURN;
    END IF;
    -- The login is taken here, where no client can say another one. Nobody else appends meanwhile.
    INSERT INTO failproof.append_logins (from_position, login)
    SELECT (SELECT coalesce(max(notification_id), 0) + 1 FROM failproof.events), session_user
    WHERE session_user IS DISTINCT FROM (
        SELECT last.login FROM failproof.append_logins AS last
        ORDER BY last.from_position DESC
        LIMIT 1
    );
    -- The clock may have been set back since the last event: the order of the log is that of its times. It is
    -- followed for a day at most, so that one wrong time, years from now, is not that of all events for years.
    moment := clock_timestamp();
    SELECT greatest(last.recorded_at, moment) INTO moment
    FROM (
        SELECT e.recorded_at FROM failproof.events AS e
        ORDER BY e.notification_id DESC
        LIMIT 1
    ) AS last
    WHERE last.recorded_at <= moment + interval '1 day';
    moment := coalesce(moment, clock_timestamp());
    RETURN QUERY
        INSERT INTO failproof.events AS e
            (originator_id, originator_version, topic, state, run_id, leaf_hash, recorded_at)
        SELECT originator_id, originator_version, topic, state, run_id, leaf_hash, moment
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
