-- What the functions in `functions/` stand on: locks of their own, and bounds for what a row
-- may hold.

-- Whoever appends, and whoever puts events into the tree, waits for the other here. An advisory
-- lock could be held by any session of the database. The tables stay empty.
CREATE TABLE failproof.append_lock () WITH (autovacuum_enabled = false);
COMMENT ON TABLE failproof.append_lock IS 'Locked by whoever appends, until its transaction ends.';
CREATE TABLE failproof.ledger_lock () WITH (autovacuum_enabled = false);
COMMENT ON TABLE failproof.ledger_lock IS
    'Locked by whoever changes the tree, until its transaction ends.';

-- NOT VALID: new rows are held to it. An older log may hold a row that is against it; an upgrade
-- must not fail at that row, which nobody may change. `verify` names it.
ALTER TABLE failproof.events
ADD CONSTRAINT events_version_counts CHECK (originator_version >= 0) NOT VALID,
ADD CONSTRAINT events_topic_is_a_name CHECK (
    octet_length(topic) <= 128 AND topic ~ '^[A-Za-z][A-Za-z0-9_-]*$'
) NOT VALID;

ALTER TABLE failproof.ledger_tiles
ADD CONSTRAINT ledger_tiles_level_exists CHECK (level <= 7) NOT VALID,
ADD CONSTRAINT ledger_tiles_no_position_is_null CHECK (
    array_position(positions, NULL) IS NULL
) NOT VALID;

ALTER TABLE failproof.ledger_checkpoints
ADD CONSTRAINT ledger_checkpoints_size_counts CHECK (tree_size >= 0) NOT VALID,
ADD CONSTRAINT ledger_checkpoints_note_is_short CHECK (octet_length(note) <= 65536) NOT VALID;
