-- Take the events of a run's evaluations out of the log: their states are in the file that an event
-- on record names. All else of their rows stays, in failproof.archived_events. The only way out.
--
-- Refused unless the run is sealed; that event is signed; what is taken out is exactly what the event
-- says, is in the tree and signed, leaf by leaf; and no run in the log was branched from it.
CREATE OR REPLACE FUNCTION failproof.detach_run(archived_run uuid, archive_version bigint)
RETURNS bigint
LANGUAGE plpgsql
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    this_tree integer := failproof.current_tree();
    digest bytea := sha256(convert_to('operations' || chr(10) || archived_run::text, 'UTF8'));
    beside uuid;
    said json;
    said_at bigint;
    signed bigint;
    signed_up_to bigint;
    found record;
    moved bigint;
BEGIN
    -- The stream beside the run: its id as everybody makes it (a UUID of version 8).
    digest := set_byte(digest, 6, (get_byte(digest, 6) & 15) | 128);
    digest := set_byte(digest, 8, (get_byte(digest, 8) & 63) | 128);
    beside := encode(substring(digest FROM 1 FOR 16), 'hex')::uuid;
    SELECT failproof.readable(convert_from(e.state, 'UTF8')::json), e.notification_id
    INTO said, said_at
    FROM failproof.events AS e
    WHERE e.originator_id = beside
        AND e.originator_version = archive_version
        AND e.topic = 'RunArchived';
    IF said ->> 'about' IS DISTINCT FROM archived_run::text
        OR EXISTS (
            SELECT FROM failproof.events AS e
            WHERE e.originator_id = beside
                AND e.originator_version > archive_version
                AND e.topic IN ('RunArchived', 'RunAttached')
        )
    THEN
        RAISE EXCEPTION 'no event on record says that run % is archived', archived_run
            USING ERRCODE = 'FP008', HINT = 'Runs are archived by `failproof-es archive`.';
    END IF;
    IF NOT EXISTS (
        SELECT FROM failproof.events AS e
        WHERE e.originator_id = archived_run AND e.topic = 'RunSealed'
    ) THEN
        RAISE EXCEPTION 'run % is not sealed: it has not ended', archived_run
            USING ERRCODE = 'FP008';
    END IF;
    -- What a signed checkpoint covers. Whether its signature is good is not known here.
    SELECT max(c.tree_size) INTO signed
    FROM failproof.ledger_checkpoints AS c WHERE c.tree = this_tree;
    SELECT t.positions[(signed - 1) % 256 + 1] INTO signed_up_to
    FROM failproof.ledger_tiles AS t
    WHERE t.tree = this_tree AND t.level = 0
        AND t.tile = (signed - 1) / 256 AND t.width > (signed - 1) % 256
    LIMIT 1;
    IF (said_at <= signed_up_to) IS NOT TRUE THEN
        RAISE EXCEPTION 'the event that archives run % is under no checkpoint', archived_run
            USING ERRCODE = 'FP008', HINT = 'Sign the log: `failproof-es ledger checkpoint`.';
    END IF;
    IF EXISTS (
        SELECT FROM failproof.events AS e
        WHERE e.topic = 'CarriedOver'
            AND e.run_id IS DISTINCT FROM archived_run
            AND position(convert_to(archived_run::text, 'UTF8') IN e.state) > 0
    ) OR EXISTS (
        SELECT FROM failproof.events AS e
        WHERE e.topic = 'RunStarted'
            AND position(convert_to(archived_run::text, 'UTF8') IN e.state) > 0
            AND failproof.readable(convert_from(e.state, 'UTF8')::json)
                #>> '{branched_from,run_id}' = archived_run::text
            AND NOT EXISTS (
                SELECT FROM failproof.archived_events AS a WHERE a.run_id = e.originator_id
            )
            -- One that is sealed and has no evaluations refers to none, and cannot be archived.
            AND (
                EXISTS (
                    SELECT FROM failproof.events AS own
                    WHERE own.run_id = e.originator_id AND own.originator_id <> e.originator_id
                )
                OR NOT EXISTS (
                    SELECT FROM failproof.events AS own
                    WHERE own.originator_id = e.originator_id AND own.topic = 'RunSealed'
                )
            )
    ) THEN
        RAISE EXCEPTION 'another run was branched from run %', archived_run
            USING ERRCODE = 'FP008', HINT = 'Archive that run first.';
    END IF;

    WITH gone AS MATERIALIZED (
        SELECT
            e.notification_id, e.originator_id, e.recorded_at, e.leaf_hash,
            e.leaf_hash = failproof.leaf_of(
                e.originator_id, e.originator_version, e.topic, e.state
            ) AS is_its_leaf
        FROM failproof.events AS e
        WHERE e.run_id = archived_run AND e.originator_id <> archived_run
    ),
    bounds AS (
        SELECT min(g.notification_id) AS first, max(g.notification_id) AS last FROM gone AS g
    ),
    tiles AS (
        SELECT DISTINCT ON (t.tile) t.positions, t.hashes
        FROM failproof.ledger_tiles AS t
        WHERE t.tree = this_tree AND t.level = 0
            AND t.positions[1] <= (SELECT b.last FROM bounds AS b)
            AND t.positions[t.width] >= (SELECT b.first FROM bounds AS b)
        ORDER BY t.tile, t.width DESC
    ),
    leaves AS (
        SELECT
            leaf.position,
            substring(tile.hashes FROM (leaf.place::integer - 1) * 32 + 1 FOR 32) AS hash
        FROM tiles AS tile
        CROSS JOIN LATERAL unnest(tile.positions) WITH ORDINALITY AS leaf (position, place)
    )
    SELECT
        count(*) AS events,
        count(DISTINCT g.originator_id) AS streams,
        max(g.notification_id) AS last,
        bool_and(g.is_its_leaf AND g.leaf_hash = leaves.hash) AS in_the_tree,
        encode(sha256(coalesce(string_agg(
            int8send(g.notification_id) || timestamptz_send(g.recorded_at) || g.leaf_hash,
            ''::bytea ORDER BY g.notification_id
        ), ''::bytea)), 'hex') AS rows_sha256
    INTO found
    FROM gone AS g
    LEFT JOIN leaves ON leaves.position = g.notification_id;

    IF found.events = 0 AND (said ->> 'events')::bigint = (
        SELECT count(*) FROM failproof.archived_events AS a WHERE a.run_id = archived_run
    ) THEN
        RETURN 0; -- it was taken out before
    END IF;
    IF (found.in_the_tree AND found.last <= signed_up_to) IS NOT TRUE THEN
        RAISE EXCEPTION 'not every event of run % is in the signed tree as it is here', archived_run
            USING ERRCODE = 'FP008', HINT = '`failproof-es verify` says what is wrong.';
    END IF;
    IF (found.events, found.streams, found.rows_sha256) IS DISTINCT FROM (
        (said ->> 'events')::bigint, (said ->> 'streams')::bigint, said ->> 'rows_sha256'
    ) THEN
        RAISE EXCEPTION 'the event that archives run % names other events than there are',
            archived_run
            USING ERRCODE = 'FP008';
    END IF;

    INSERT INTO failproof.archived_events (
        notification_id, originator_id, originator_version, topic, run_id, recorded_at, leaf_hash
    )
    SELECT
        e.notification_id, e.originator_id, e.originator_version, e.topic, e.run_id,
        e.recorded_at, e.leaf_hash
    FROM failproof.events AS e
    WHERE e.run_id = archived_run AND e.originator_id <> archived_run;
    DELETE FROM failproof.events AS e
    WHERE e.run_id = archived_run AND e.originator_id <> archived_run;
    GET DIAGNOSTICS moved = ROW_COUNT;
    -- From here on nobody appends, until this commits; later appends see that the streams are gone.
    PERFORM failproof.lock_append();
    IF moved <> found.events OR EXISTS (
        SELECT FROM failproof.archived_events AS a
        JOIN failproof.events AS e ON e.originator_id = a.originator_id
        WHERE a.run_id = archived_run
    ) OR EXISTS (
        SELECT FROM failproof.events AS e
        WHERE e.run_id = archived_run AND e.originator_id <> archived_run
    ) THEN
        RAISE EXCEPTION 'the streams of run % hold more than what is archived', archived_run
            USING ERRCODE = 'FP008';
    END IF;
    RETURN moved;
END;
$$;
