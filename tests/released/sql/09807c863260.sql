-- No row of a table with this trigger is ever changed or removed. One exception: a row of the log
-- goes to failproof.archived_events, and comes back. It leaves either table only when the other one
-- holds it, equal in every column; its leaf hash stands for its state. `detach_run` and
-- `attach_events` do that, as the owner.
CREATE OR REPLACE FUNCTION failproof.refuse_change() RETURNS trigger
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF TG_OP = 'DELETE' AND TG_TABLE_SCHEMA = 'failproof' AND current_user = 'failproof_owner' THEN
        IF TG_TABLE_NAME = 'events' THEN
            IF TG_LEVEL = 'STATEMENT' THEN
                RETURN NULL; -- each row is asked
            END IF;
            IF EXISTS (
                SELECT FROM failproof.archived_events AS kept
                WHERE kept.notification_id = OLD.notification_id
                    AND kept.originator_id = OLD.originator_id
                    AND kept.originator_version = OLD.originator_version
                    AND kept.topic = OLD.topic
                    AND kept.run_id = OLD.run_id
                    AND kept.recorded_at = OLD.recorded_at
                    AND kept.leaf_hash = OLD.leaf_hash
            ) THEN
                RETURN OLD;
            END IF;
        ELSIF TG_TABLE_NAME = 'archived_events' THEN
            IF TG_LEVEL = 'STATEMENT' THEN
                RETURN NULL;
            END IF;
            IF EXISTS (
                SELECT FROM failproof.events AS back
                WHERE back.notification_id = OLD.notification_id
                    AND back.originator_id = OLD.originator_id
                    AND back.originator_version = OLD.originator_version
                    AND back.topic = OLD.topic
                    AND back.run_id = OLD.run_id
                    AND back.recorded_at = OLD.recorded_at
                    AND back.leaf_hash = OLD.leaf_hash
            ) THEN
                RETURN OLD;
            END IF;
        END IF;
    END IF;
    RAISE EXCEPTION '%.% is append-only: % refused', TG_TABLE_SCHEMA, TG_TABLE_NAME, TG_OP
        USING ERRCODE = 'FP002', HINT = 'Record a new event instead.';
END;
$$;
