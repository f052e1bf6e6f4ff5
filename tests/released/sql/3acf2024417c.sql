-- What an event hashes to in the tree: docs/reference/evidence-format.md. Its writer computes the leaf
-- before the insert; here it is computed again, so that a wrong one is refused.
CREATE OR REPLACE FUNCTION failproof.leaf_of(
    originator_id uuid, originator_version bigint, topic text, state bytea
) RETURNS bytea
LANGUAGE sql STABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
    SELECT sha256(
        '\x00'::bytea
        || 'failproof-es/event/1\012'::bytea
        || uuid_send(originator_id)
        || int8send(originator_version)
        || int2send(octet_length(topic)::smallint)
        || convert_to(topic, 'UTF8')
        || int8send(octet_length(state))
        || sha256(state)
    );
END;
