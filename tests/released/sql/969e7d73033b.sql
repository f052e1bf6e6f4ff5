-- How much of a minute's limit a share holds from now on, of which so much is not used and not held by others:
-- what it keeps, and of the rest what it wants, at most one part in so many. With 0 parts it gets all
-- that it wants or nothing more.
CREATE OR REPLACE FUNCTION failproof.rate_share(
    available numeric, keeps bigint, wants bigint, parts bigint
) RETURNS bigint
LANGUAGE sql
IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT greatest(0, least(
        available,
        keeps + CASE
            WHEN parts = 0 THEN CASE WHEN wants <= available - keeps THEN wants ELSE 0 END
            ELSE greatest(0, least(wants, ceil((available - keeps) / parts)))
        END
    ))::bigint;
$$;
