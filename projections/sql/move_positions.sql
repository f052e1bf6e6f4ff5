INSERT INTO projections.positions (name, version, position)
SELECT * FROM unnest(%s::text[], %s::integer[], %s::bigint[])
ON CONFLICT (name) DO UPDATE SET
    version = excluded.version,
    position = excluded.position,
    updated_at = clock_timestamp()
