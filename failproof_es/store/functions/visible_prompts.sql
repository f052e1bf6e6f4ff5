-- The streams of the cases that these runs planned. A plan that cannot be read shows no case.
CREATE OR REPLACE FUNCTION failproof.visible_prompts() RETURNS SETOF uuid
LANGUAGE plpgsql
STABLE
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    plan bytea;
BEGIN
    FOR plan IN
        SELECT e.state
        FROM failproof.events AS e
        WHERE e.originator_id IN (SELECT failproof.visible_runs())
            AND e.run_id = e.originator_id
            AND e.topic = 'CasesPlanned'
    LOOP
        BEGIN
            RETURN QUERY
                SELECT failproof.digest_uuid(decode(digest, 'hex'))
                FROM json_array_elements_text(convert_from(plan, 'UTF8')::json -> 'digests')
                    AS planned (digest);
        EXCEPTION WHEN data_exception OR program_limit_exceeded THEN
            NULL;
        END;
    END LOOP;
END;
$$;
