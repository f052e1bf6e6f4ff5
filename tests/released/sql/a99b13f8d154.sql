-- End every share of a provider key's limits, and let the server be asked at once, whatever it said. The key is
-- named by its first digits. What was used in this minute still counts. A worker that lives states its share
-- again within a second.
CREATE OR REPLACE FUNCTION failproof.clear_limits(key_begins text)
RETURNS TABLE (cleared_server text, cleared_shares bigint)
LANGUAGE plpgsql
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
    key record;
BEGIN
    IF (key_begins ~ '^[0-9a-f]{8,64}$') IS NOT TRUE THEN
        RAISE EXCEPTION '% does not begin a provider key: at least 8 hexadecimal digits', key_begins
            USING ERRCODE = '22023';
    END IF;
    FOR key IN
        SELECT p.provider_key, p.server FROM failproof.provider_limits AS p
        WHERE starts_with(p.provider_key, key_begins)
        ORDER BY p.provider_key
        FOR UPDATE
    LOOP
        cleared_server := key.server;
        DELETE FROM failproof.limit_shares AS s WHERE s.provider_key = key.provider_key;
        GET DIAGNOSTICS cleared_shares = ROW_COUNT;
        UPDATE failproof.provider_limits AS p SET held_until = '-infinity'
        WHERE p.provider_key = key.provider_key;
        RETURN NEXT;
    END LOOP;
END;
$$;
