-- The requests of one evaluation, each with its whole body: a long conversation's request holds
-- what it adds to the one before it of its purpose (`failproof_es/core/request_body.py`). One walk,
-- which holds one body. `is_as_sent`: whether the digest of the body is the recorded one. Where the
-- record was changed so that nothing can be continued, the body is what the event itself holds.
-- NULL where a body has a NUL, which no text here can have: its bytes are in stored_events.
CREATE OR REPLACE FUNCTION failproof.sent_bodies(stream uuid) RETURNS TABLE (
    "position" bigint, stream_version integer, recorded_at timestamptz, purpose text, judge text,
    turn integer, attempt integer, model text, endpoint text, body text, body_sha256 text,
    is_as_sent boolean
)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    sent record;
    payload json;
    part text;
    whole bytea;
    earlier_purpose text;
    earlier_version bigint;
    earlier_sha256 text;
    is_possible boolean;
BEGIN
    FOR sent IN
        SELECT e.notification_id, e.originator_version, e.recorded_at AS at, p.document, r.*
        FROM failproof.stored_events AS e
        CROSS JOIN LATERAL (
            SELECT failproof.readable(convert_from(e.state, 'UTF8')::json) AS document
        ) AS p
        CROSS JOIN LATERAL json_to_record(p.document) AS r (
            purpose text, judge text, turn integer, attempt integer, model text, endpoint text,
            body text, body_sha256 text, continues json
        )
        WHERE e.originator_id = stream AND e.topic = 'RequestSent'
        ORDER BY r.purpose, e.originator_version
    LOOP
        part := sent.body;
        IF strpos(part, 'u0000') > 0 THEN
            IF part ~ '(^|[^\\])(\\\\)*\\u0000' THEN
                part := NULL;
            ELSE
                part := regexp_replace(part, '(\\+)\1u0000', '\1u0000', 'g');
            END IF;
        END IF;
        is_possible := true;
        IF json_typeof(sent.continues) = 'object' THEN
            is_possible := coalesce(
                sent.purpose = earlier_purpose
                AND sent.continues ->> 'version' = earlier_version::text
                AND sent.continues ->> 'sha256' = earlier_sha256
                AND (sent.continues ->> 'prefix')::numeric >= 0
                AND (sent.continues ->> 'suffix')::numeric >= 0
                AND (sent.continues ->> 'prefix')::numeric
                    + (sent.continues ->> 'suffix')::numeric <= length(whole),
                false
            );
        END IF;
        IF is_possible AND json_typeof(sent.continues) = 'object' THEN
            whole := substring(whole FROM 1 FOR (sent.continues ->> 'prefix')::integer)
                || convert_to(part, 'UTF8')
                || substring(whole FROM length(whole) - (sent.continues ->> 'suffix')::integer + 1);
        ELSE
            whole := convert_to(part, 'UTF8');
        END IF;
        earlier_purpose := sent.purpose;
        earlier_version := sent.originator_version;
        earlier_sha256 := sent.body_sha256;
        "position" := sent.notification_id;
        stream_version := sent.originator_version;
        recorded_at := sent.at;
        purpose := sent.purpose;
        judge := sent.judge;
        turn := sent.turn;
        attempt := sent.attempt;
        model := sent.model;
        endpoint := sent.endpoint;
        body_sha256 := sent.body_sha256;
        is_as_sent := is_possible AND encode(sha256(whole), 'hex') = sent.body_sha256;
        BEGIN
            body := convert_from(whole, 'UTF8');
        EXCEPTION WHEN character_not_in_repertoire THEN -- cut by who changed the record
            body := sent.body;
        END;
        RETURN NEXT;
    END LOOP;
END
$$;
