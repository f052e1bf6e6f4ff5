-- The root of the log's tree over the first `size` events, NULL where the tiles do not reach that far.
-- From the leaves up, each level of tiles has up to 255 hashes that fill no tile of the next
-- one; they are perfect subtrees, folded from the right.
CREATE OR REPLACE FUNCTION failproof.tree_root(size bigint) RETURNS bytea
LANGUAGE plpgsql
STABLE
STRICT
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    this_tree integer := failproof.current_tree();
    tile_level smallint := 0;
    above bigint := size;
    loose integer;
    wide integer;
    hashes_here bytea;
    subtree bytea;
    root bytea;
BEGIN
    IF size <= 0 THEN
        RETURN CASE size WHEN 0 THEN sha256(''::bytea) END;
    END IF;
    WHILE above > 0 LOOP
        loose := (above & 255)::integer;
        above := above >> 8;
        IF loose > 0 THEN
            SELECT t.hashes INTO hashes_here
            FROM failproof.ledger_tiles AS t
            WHERE t.tree = this_tree AND t.level = tile_level
                AND t.tile = above AND t.width >= loose
            ORDER BY t.width DESC
            LIMIT 1;
            IF NOT FOUND THEN
                RETURN NULL;
            END IF;
            WHILE loose > 0 LOOP
                wide := loose & -loose;
                loose := loose - wide;
                subtree := failproof.perfect_root(
                    substring(hashes_here FROM 32 * loose + 1 FOR 32 * wide)
                );
                root := CASE
                    WHEN root IS NULL THEN subtree
                    ELSE sha256('\x01'::bytea || subtree || root)
                END;
            END LOOP;
        END IF;
        tile_level := tile_level + 1;
    END LOOP;
    RETURN root;
END;
$$;
