-- The Merkle ledger: what the writer says each event hashes to, the tree's tiles, and the
-- signed checkpoints. docs/evidence-format.md says what is hashed.
ALTER TABLE failproof.events ADD COLUMN leaf_hash bytea CHECK (octet_length(leaf_hash) = 32);
COMMENT ON COLUMN failproof.events.leaf_hash IS
    'The leaf as its writer computed it before the insert; NULL for events older than the ledger.';

CREATE OR REPLACE VIEW failproof.stored_events AS
SELECT
    notification_id,
    originator_id,
    originator_version,
    topic,
    state,
    run_id,
    recorded_at,
    leaf_hash
FROM failproof.events;

-- Which log this is: the name that its checkpoints are signed for.
CREATE TABLE failproof.ledger_identity (
    origin text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
INSERT INTO failproof.ledger_identity (origin) VALUES ('failproof-es/' || gen_random_uuid());

-- Tiles as in C2SP tlog-tiles: up to 256 hashes of one level, side by side. A full tile is
-- written once. A narrower one is written with each checkpoint, and a wider one follows it.
CREATE TABLE failproof.ledger_tiles (
    level smallint NOT NULL CHECK (level >= 0),
    tile bigint NOT NULL CHECK (tile >= 0),
    width smallint NOT NULL CHECK (width BETWEEN 1 AND 256),
    hashes bytea NOT NULL CHECK (octet_length(hashes) = 32 * width),
    -- Which event each leaf is, by its position in the log.
    positions bigint [] CHECK ((level = 0) = (cardinality(positions) IS NOT NULL)),
    integrated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT ledger_tiles_place PRIMARY KEY (level, tile, width),
    CONSTRAINT ledger_tiles_positions CHECK (level > 0 OR cardinality(positions) = width)
);
ALTER TABLE failproof.ledger_tiles ALTER COLUMN hashes SET STORAGE EXTERNAL;
CREATE INDEX ledger_tiles_first_position_idx ON failproof.ledger_tiles ((positions[1]))
WHERE level = 0;

CREATE TABLE failproof.ledger_checkpoints (
    checkpoint_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tree_size bigint NOT NULL,
    note text NOT NULL UNIQUE,
    recorded_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX ledger_checkpoints_size_idx ON failproof.ledger_checkpoints (tree_size);

CREATE VIEW failproof.ledger_origin AS SELECT origin, created_at FROM failproof.ledger_identity;

CREATE VIEW failproof.ledger_tile_list AS
SELECT level, tile, width, hashes, positions, integrated_at FROM failproof.ledger_tiles;

CREATE VIEW failproof.checkpoint_list AS
SELECT checkpoint_id, tree_size, note, recorded_at FROM failproof.ledger_checkpoints;

DO $$
DECLARE
    guarded text;
BEGIN
    FOREACH guarded IN ARRAY ARRAY['ledger_identity', 'ledger_tiles', 'ledger_checkpoints'] LOOP
        EXECUTE format(
            'CREATE TRIGGER statements_change_nothing '
            'BEFORE UPDATE OR DELETE OR TRUNCATE ON failproof.%1$I '
            'FOR EACH STATEMENT EXECUTE FUNCTION failproof.refuse_change(); '
            'CREATE TRIGGER rows_never_change '
            'BEFORE UPDATE OR DELETE ON failproof.%1$I '
            'FOR EACH ROW EXECUTE FUNCTION failproof.refuse_change(); '
            'ALTER TABLE failproof.%1$I ENABLE ALWAYS TRIGGER statements_change_nothing; '
            'ALTER TABLE failproof.%1$I ENABLE ALWAYS TRIGGER rows_never_change',
            guarded
        );
    END LOOP;
END;
$$;

DROP FUNCTION failproof.append(uuid [], bigint [], text [], bytea [], uuid [], uuid, bigint);

CREATE FUNCTION failproof.append(
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

-- One integrator at a time until its transaction ends.
CREATE FUNCTION failproof.lock_ledger() RETURNS void
LANGUAGE sql
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT pg_advisory_xact_lock(hashtextextended('failproof.ledger', 0));
$$;

CREATE FUNCTION failproof.add_tile(
    new_level smallint, new_tile bigint, new_width smallint, new_hashes bytea, new_positions bigint[]
) RETURNS void
LANGUAGE sql
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
    INSERT INTO failproof.ledger_tiles (level, tile, width, hashes, positions)
    VALUES ($1, $2, $3, $4, $5)
    ON CONFLICT DO NOTHING;
$$;

CREATE FUNCTION failproof.add_checkpoint(new_tree_size bigint, new_note text) RETURNS void
LANGUAGE sql
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
    INSERT INTO failproof.ledger_checkpoints (tree_size, note) VALUES ($1, $2)
    ON CONFLICT DO NOTHING;
$$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA failproof FROM PUBLIC;
