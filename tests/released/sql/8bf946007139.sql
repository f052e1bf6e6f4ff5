-- The root over a power of two of hashes that stand side by side on one level of the tree.
CREATE OR REPLACE FUNCTION failproof.perfect_root(hashes bytea) RETURNS bytea
LANGUAGE plpgsql
IMMUTABLE
STRICT
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    level bytea := hashes;
BEGIN
    WHILE octet_length(level) > 32 LOOP
        SELECT string_agg(
            sha256('\x01'::bytea || substring(level FROM 64 * pair + 1 FOR 64)), ''::bytea
            ORDER BY pair
        )
        INTO level
        FROM generate_series(0, octet_length(level) / 64 - 1) AS pair;
    END LOOP;
    RETURN level;
END;
$$;
