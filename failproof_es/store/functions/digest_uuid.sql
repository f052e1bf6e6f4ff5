-- The id of a stream from a digest of at least 16 bytes: a UUID of version 8, as `digest_uuid` in
-- `failproof_es/core/case.py` makes it.
CREATE OR REPLACE FUNCTION failproof.digest_uuid(digest bytea) RETURNS uuid
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
    SELECT encode(
        substring(
            set_byte(
                set_byte(digest, 6, (get_byte(digest, 6) & 15) | 128),
                8, (get_byte(digest, 8) & 63) | 128
            )
            FROM 1 FOR 16
        ),
        'hex'
    )::uuid;
END;
