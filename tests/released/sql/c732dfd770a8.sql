-- PostgreSQL has no text with NUL in it, and refuses to look into json that says \u0000
-- anywhere. So payloads are looked into with that escape written as text would be: the
-- backslashes before u0000 doubled, as in the text columns of the read models. What is taken
-- out goes back to the letter.
CREATE OR REPLACE FUNCTION promptguard.opened(state bytea) RETURNS json
LANGUAGE sql STABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
    SELECT CASE
        WHEN position('u0000'::bytea IN state) = 0 THEN convert_from(state, 'UTF8')
        ELSE regexp_replace(convert_from(state, 'UTF8'), '(\\+)u0000', '\1\1u0000', 'g')
    END::json;
END;

CREATE OR REPLACE FUNCTION promptguard.closed(document json) RETURNS json
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
    SELECT CASE
        WHEN strpos(document::text, 'u0000') = 0 THEN document
        ELSE regexp_replace(document::text, '(\\+)\1u0000', '\1u0000', 'g')::json
    END;
END;
