-- When a lease ends that is given now for so many seconds.
CREATE OR REPLACE FUNCTION failproof.lease_end(lease_seconds double precision)
RETURNS timestamptz
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF (lease_seconds > 0 AND lease_seconds <= 86400) IS NOT TRUE THEN
        RAISE EXCEPTION 'a lease of % s: it must be more than 0 and at most 86400',
            lease_seconds
            USING ERRCODE = '22023';
    END IF;
    RETURN clock_timestamp() + make_interval(secs => lease_seconds);
END;
$$;
