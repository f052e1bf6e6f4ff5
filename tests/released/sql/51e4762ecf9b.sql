-- PostgreSQL has no text with NUL in it, and refuses to look into json that says \u0000
-- anywhere. Here that escape is written as text would be: the backslashes before u0000 doubled.
-- Two different documents stay different. The exact bytes are in failproof.stored_events.
CREATE OR REPLACE FUNCTION failproof.readable(document json) RETURNS json
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
    SELECT CASE
        WHEN strpos(document::text, 'u0000') = 0 THEN document
        ELSE regexp_replace(document::text, '(\\+)u0000', '\1\1u0000', 'g')::json
    END;
END;
