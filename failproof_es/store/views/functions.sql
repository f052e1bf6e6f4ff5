-- Payloads are looked into with NUL written as text, as in the text columns of the read models
-- (failproof.readable). What is taken out goes back to the letter.
CREATE OR REPLACE FUNCTION promptguard.opened(state bytea) RETURNS json
LANGUAGE sql STABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
    SELECT failproof.readable(convert_from(state, 'UTF8')::json);
END;

CREATE OR REPLACE FUNCTION promptguard.closed(document json) RETURNS json
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
    SELECT CASE
        WHEN strpos(document::text, 'u0000') = 0 THEN document
        ELSE regexp_replace(document::text, '(\\+)\1u0000', '\1u0000', 'g')::json
    END;
END;
