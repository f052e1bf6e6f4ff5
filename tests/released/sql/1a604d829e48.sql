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

-- A recorded body as text: the bytes that stand there in base64 are decoded where they are text,
-- and left in base64 where they are not. Reads as `body_text` in `failproof_es/core/reply_body.py` does. NUL
-- comes out as `opened` writes it: bytes are looked at as pairs of hexadecimal digits.
CREATE OR REPLACE FUNCTION promptguard.body_text(body text, encoding text) RETURNS text
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    data bytea;
    pairs text;
BEGIN
    IF body IS NULL OR encoding IS DISTINCT FROM 'base64' THEN
        RETURN body;
    END IF;
    data := decode(body, 'base64');
    IF position('\x00'::bytea IN data) > 0 OR position('u0000'::bytea IN data) > 0 THEN
        pairs := regexp_replace(encode(data, 'hex'), '(..)', '\1 ', 'g');
        pairs := regexp_replace(pairs, '((?:5c )+)(75 30 30 30 30 )', '\1\1\2', 'g');
        pairs := regexp_replace(pairs, '((?:5c )*)00 ', '\1\15c 75 30 30 30 30 ', 'g');
        data := decode(replace(pairs, ' ', ''), 'hex');
    END IF;
    RETURN convert_from(data, 'UTF8');
EXCEPTION
    WHEN character_not_in_repertoire THEN
        RETURN body;
END
$$;
