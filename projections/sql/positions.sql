-- How far each projection is. A row's position moves in the transaction that writes its rows.
CREATE TABLE IF NOT EXISTS projections.positions (
    name text PRIMARY KEY,
    version integer NOT NULL,
    position bigint NOT NULL,
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
