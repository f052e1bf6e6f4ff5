-- When a transaction that attached a run ends: the whole of the run is in the log again, or it does
-- not commit. The events are as many as the event on record archived, with the same positions, times and
-- leaves; nothing of the run is kept as archived.
CREATE OR REPLACE FUNCTION failproof.require_whole_run() RETURNS trigger
LANGUAGE plpgsql
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    digest bytea := sha256(convert_to('operations' || chr(10) || NEW.run_id::text, 'UTF8'));
    said json;
    back record;
    kept bigint;
BEGIN
    digest := set_byte(digest, 6, (get_byte(digest, 6) & 15) | 128);
    digest := set_byte(digest, 8, (get_byte(digest, 8) & 63) | 128);
    SELECT failproof.readable(convert_from(e.state, 'UTF8')::json) INTO said
    FROM failproof.events AS e
    WHERE e.originator_id = encode(substring(digest FROM 1 FOR 16), 'hex')::uuid
        AND e.topic = 'RunArchived'
    ORDER BY e.originator_version DESC
    LIMIT 1;
    SELECT count(*) INTO kept
    FROM failproof.archived_events AS a WHERE a.run_id = NEW.run_id;
    SELECT
        count(*) AS events,
        encode(sha256(coalesce(string_agg(
            int8send(e.notification_id) || timestamptz_send(e.recorded_at) || e.leaf_hash,
            ''::bytea ORDER BY e.notification_id
        ), ''::bytea)), 'hex') AS rows_sha256
    INTO back
    FROM failproof.events AS e
    WHERE e.run_id = NEW.run_id AND e.originator_id <> NEW.run_id;
    IF kept > 0 OR (back.events, back.rows_sha256) IS DISTINCT FROM (
        (said ->> 'events')::bigint, said ->> 'rows_sha256'
    ) THEN
        RAISE EXCEPTION '% events of run % are in the log, % were archived: a part is not attached',
            back.events, NEW.run_id, coalesce(said ->> 'events', 'none')
            USING ERRCODE = 'FP008', HINT = 'Attach all of it with `failproof-es attach`.';
    END IF;
    DELETE FROM failproof.runs_being_attached AS a WHERE a.run_id = NEW.run_id;
    RETURN NULL;
END;
$$;
