-- The Merkle ledger: the tree's tiles, and the signed checkpoints. docs/reference/evidence-format.md says
-- what is hashed.

-- Which log this is: the name that its checkpoints are signed for. A log whose tree was hurt gets a new
-- one (`failproof-es ledger repair`), and the old one stays. Trees count from 0; the last one is the
-- log's, and what is added goes to it. Each has an origin of its own, so that no checkpoint of one ever
-- contradicts a checkpoint of another.
CREATE TABLE failproof.ledger_identity (
    origin text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    tree integer NOT NULL DEFAULT 0
);
INSERT INTO failproof.ledger_identity (origin) VALUES ('failproof-es/' || gen_random_uuid());

-- Tiles as in C2SP tlog-tiles: up to 256 hashes of one level, side by side. A full tile is
-- written once. A narrower one is written with each checkpoint, and a wider one follows it.
CREATE TABLE failproof.ledger_tiles (
    tree integer NOT NULL DEFAULT failproof.current_tree(),
    level smallint NOT NULL,
    tile bigint NOT NULL,
    width smallint NOT NULL,
    hashes bytea NOT NULL,
    -- Which event each leaf is, by its position in the log.
    positions bigint [],
    integrated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT ledger_tiles_place PRIMARY KEY (tree, level, tile, width),
    CONSTRAINT ledger_tiles_level_exists CHECK (level BETWEEN 0 AND 7),
    CONSTRAINT ledger_tiles_tile_counts CHECK (tile >= 0),
    CONSTRAINT ledger_tiles_width_exists CHECK (width BETWEEN 1 AND 256),
    CONSTRAINT ledger_tiles_hashes_are_whole CHECK (octet_length(hashes) = 32 * width),
    CONSTRAINT ledger_tiles_leaves_have_positions CHECK (
        (level = 0) = (cardinality(positions) IS NOT NULL)
    ),
    CONSTRAINT ledger_tiles_positions CHECK (level > 0 OR cardinality(positions) = width),
    CONSTRAINT ledger_tiles_no_position_is_null CHECK (array_position(positions, NULL) IS NULL)
);
ALTER TABLE failproof.ledger_tiles ALTER COLUMN hashes SET STORAGE EXTERNAL;
CREATE INDEX ledger_tiles_first_position_idx ON failproof.ledger_tiles (tree, (positions[1]))
WHERE level = 0;

CREATE TABLE failproof.ledger_checkpoints (
    checkpoint_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tree_size bigint NOT NULL,
    note text NOT NULL,
    recorded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    tree integer NOT NULL DEFAULT failproof.current_tree(),
    CONSTRAINT ledger_checkpoints_size_counts CHECK (tree_size >= 0),
    CONSTRAINT ledger_checkpoints_note_is_short CHECK (octet_length(note) <= 524288),
    -- Not a unique one: a cosignature by ML-DSA is longer than a row of its index can be.
    CONSTRAINT ledger_checkpoints_note_once EXCLUDE USING hash (note WITH =)
);
CREATE INDEX ledger_checkpoints_size_idx ON failproof.ledger_checkpoints (tree_size);

CREATE VIEW failproof.ledger_origin WITH (security_invoker = true) AS
SELECT origin, created_at, tree FROM failproof.ledger_identity;

CREATE VIEW failproof.ledger_tile_list WITH (security_invoker = true) AS
SELECT level, tile, width, hashes, positions, integrated_at, tree FROM failproof.ledger_tiles;

CREATE VIEW failproof.checkpoint_list WITH (security_invoker = true) AS
SELECT checkpoint_id, tree_size, note, recorded_at, tree FROM failproof.ledger_checkpoints;

-- Whoever puts events into the tree waits for the others here. The table stays empty.
CREATE TABLE failproof.ledger_lock () WITH (autovacuum_enabled = false);
COMMENT ON TABLE failproof.ledger_lock IS
    'Locked by whoever changes the tree, until its transaction ends.';
