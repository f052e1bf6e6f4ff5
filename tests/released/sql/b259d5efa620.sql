-- Put events of an archived run back: to the positions that they had, under the leaves that they
-- had. A state that does not hash to the leaf that is kept is refused, whoever gives it. They may come in
-- several calls of one transaction: it commits only with all of them (`require_whole_run`).
CREATE OR REPLACE FUNCTION failproof.attach_events(
    attached_run uuid, positions bigint[], states bytea[]
) RETURNS bigint
LANGUAGE plpgsql
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    moved bigint;
    removed bigint;
BEGIN
    INSERT INTO failproof.events (
        notification_id, originator_id, originator_version, topic, state, run_id, recorded_at,
        leaf_hash
    )
    OVERRIDING SYSTEM VALUE
    SELECT
        a.notification_id, a.originator_id, a.originator_version, a.topic, given.state, a.run_id,
        a.recorded_at, a.leaf_hash
    FROM unnest(positions, states) AS given (position, state)
    JOIN failproof.archived_events AS a ON a.notification_id = given.position
    WHERE a.run_id = attached_run
        AND a.leaf_hash = failproof.leaf_of(
            a.originator_id, a.originator_version, a.topic, given.state
        )
    ORDER BY a.notification_id;
    GET DIAGNOSTICS moved = ROW_COUNT;
    DELETE FROM failproof.archived_events AS a
    WHERE a.run_id = attached_run AND a.notification_id = ANY (positions);
    GET DIAGNOSTICS removed = ROW_COUNT;
    IF moved <> cardinality(positions) OR moved <> cardinality(states) OR moved <> removed THEN
        RAISE EXCEPTION 'of % events % are what was archived of run %',
            cardinality(positions), moved, attached_run
            USING ERRCODE = 'FP008';
    END IF;
    IF moved > 0 THEN
        INSERT INTO failproof.runs_being_attached (run_id) VALUES (attached_run)
        ON CONFLICT (run_id) DO NOTHING;
    END IF;
    RETURN moved;
END;
$$;
