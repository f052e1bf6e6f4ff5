-- A log whose tree was hurt gets a new one (`failproof-es ledger repair`), and the old one stays.
-- Trees count from 0; the last one is the log's, and what is added goes to it. Each has an origin
-- of its own, so that no checkpoint of one ever contradicts a checkpoint of another.
ALTER TABLE failproof.ledger_identity ADD COLUMN tree integer NOT NULL DEFAULT 0;

CREATE FUNCTION failproof.current_tree() RETURNS integer
LANGUAGE sql
STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT max(tree) FROM failproof.ledger_identity;
$$;

ALTER TABLE failproof.ledger_tiles ADD COLUMN tree integer NOT NULL DEFAULT 0;
ALTER TABLE failproof.ledger_tiles ALTER COLUMN tree SET DEFAULT failproof.current_tree();
ALTER TABLE failproof.ledger_tiles DROP CONSTRAINT ledger_tiles_place;
ALTER TABLE failproof.ledger_tiles
ADD CONSTRAINT ledger_tiles_place PRIMARY KEY (tree, level, tile, width);
DROP INDEX failproof.ledger_tiles_first_position_idx;
CREATE INDEX ledger_tiles_first_position_idx ON failproof.ledger_tiles (tree, (positions[1]))
WHERE level = 0;

ALTER TABLE failproof.ledger_checkpoints ADD COLUMN tree integer NOT NULL DEFAULT 0;
ALTER TABLE failproof.ledger_checkpoints ALTER COLUMN tree SET DEFAULT failproof.current_tree();

CREATE OR REPLACE VIEW failproof.ledger_origin AS
SELECT origin, created_at, tree FROM failproof.ledger_identity;

CREATE OR REPLACE VIEW failproof.ledger_tile_list AS
SELECT level, tile, width, hashes, positions, integrated_at, tree FROM failproof.ledger_tiles;

CREATE OR REPLACE VIEW failproof.checkpoint_list AS
SELECT checkpoint_id, tree_size, note, recorded_at, tree FROM failproof.ledger_checkpoints;

REVOKE ALL ON FUNCTION failproof.current_tree() FROM PUBLIC;
