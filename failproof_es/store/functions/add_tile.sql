-- Record a tile of the tree. One that is not what the log and the tiles below it give is
-- refused: no login can put anything into the tree but the log. A place that holds a tile as
-- wide stays as it is.
CREATE OR REPLACE FUNCTION failproof.add_tile(
    new_level smallint, new_tile bigint, new_width smallint, new_hashes bytea, new_positions bigint[]
) RETURNS void
LANGUAGE plpgsql
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    this_tree integer;
    known integer := 0;
    hashes_due bytea := '';
    positions_due bigint[];
    last_position bigint := 0;
    more_hashes bytea;
    more_positions bigint[];
BEGIN
    IF (new_width BETWEEN 1 AND 256) IS NOT TRUE THEN
        RAISE EXCEPTION 'a tile holds 1 to 256 hashes, not %', new_width USING ERRCODE = 'FP006';
    END IF;
    PERFORM failproof.lock_ledger();
    this_tree := failproof.current_tree();

    -- What stands at this place already: the new tile begins with it.
    SELECT t.width, t.hashes, t.positions INTO known, hashes_due, positions_due
    FROM failproof.ledger_tiles AS t
    WHERE t.tree = this_tree AND t.level = new_level AND t.tile = new_tile
    ORDER BY t.width DESC
    LIMIT 1;
    IF known >= new_width THEN
        RETURN;
    END IF;
    known := coalesce(known, 0);
    hashes_due := coalesce(hashes_due, '');

    -- The place before it is full.
    IF new_tile > 0 THEN
        SELECT t.positions[256] INTO last_position
        FROM failproof.ledger_tiles AS t
        WHERE t.tree = this_tree AND t.level = new_level
            AND t.tile = new_tile - 1 AND t.width = 256;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'tile % of level % refused: tile % is not full',
                new_tile, new_level, new_tile - 1
                USING ERRCODE = 'FP006';
        END IF;
    END IF;

    IF new_level = 0 THEN
        -- The next events of the log, none left out.
        IF known > 0 THEN
            last_position := positions_due[known];
        END IF;
        SELECT
            string_agg(next_event.leaf, ''::bytea ORDER BY next_event.notification_id),
            array_agg(next_event.notification_id ORDER BY next_event.notification_id)
        INTO more_hashes, more_positions
        FROM (
            SELECT
                e.notification_id,
                e.leaf_hash AS leaf  -- `append` compared it with the event
            FROM failproof.events AS e
            WHERE e.notification_id > last_position
            ORDER BY e.notification_id
            LIMIT new_width - known
        ) AS next_event;
        positions_due := coalesce(positions_due, '{}') || more_positions;
    ELSE
        -- The roots of the next tiles of the level below, each of them full.
        SELECT string_agg(failproof.perfect_root(below.hashes), ''::bytea ORDER BY below.tile)
        INTO more_hashes
        FROM failproof.ledger_tiles AS below
        WHERE below.tree = this_tree
            AND below.level = new_level - 1
            AND below.width = 256
            AND below.tile >= new_tile * 256 + known
            AND below.tile < new_tile * 256 + new_width;
    END IF;

    IF hashes_due || more_hashes IS DISTINCT FROM new_hashes
        OR positions_due IS DISTINCT FROM new_positions
    THEN
        RAISE EXCEPTION 'tile % of level % refused: it is not what %', new_tile, new_level,
            CASE new_level WHEN 0 THEN 'the log holds' ELSE 'the tiles below it give' END
            USING ERRCODE = 'FP006';
    END IF;
    INSERT INTO failproof.ledger_tiles (tree, level, tile, width, hashes, positions)
    VALUES (this_tree, new_level, new_tile, new_width, new_hashes, new_positions);
END;
$$;
