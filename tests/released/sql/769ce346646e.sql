-- No statement changes what stands in the schema, except as failproof_migrator; what that
-- role changes is recorded. Only a superuser can install this, and only a superuser can
-- take it down: the functions belong to neither the owner nor the migrator.
DROP EVENT TRIGGER IF EXISTS failproof_definitions_stay;
DROP EVENT TRIGGER IF EXISTS failproof_objects_stay;
DROP EVENT TRIGGER IF EXISTS failproof_rows_are_not_rewritten;
CREATE SCHEMA IF NOT EXISTS failproof_guard;
-- Whoever changes anything in this database, in whatever schema, runs these functions.
GRANT USAGE ON SCHEMA failproof_guard TO PUBLIC;

-- Whether an object stands in the schema, hangs on what does (a trigger, rule, policy,
-- constraint, default), or was just moved out of it.
CREATE OR REPLACE FUNCTION failproof_guard.is_ours(classid oid, objid oid, objsubid integer)
RETURNS boolean
LANGUAGE sql
STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT (pg_identify_object_as_address(classid, objid, objsubid)).object_names[1]
            IN ('failproof', 'failproof_guard')
        OR 'failproof_owner' = pg_get_userbyid(CASE classid
            WHEN 'pg_class'::regclass THEN (SELECT relowner FROM pg_class WHERE oid = objid)
            WHEN 'pg_proc'::regclass THEN (SELECT proowner FROM pg_proc WHERE oid = objid)
            WHEN 'pg_namespace'::regclass THEN
                (SELECT nspowner FROM pg_namespace WHERE oid = objid)
        END);
$$;

-- CREATE, ALTER, COMMENT, GRANT.
CREATE OR REPLACE FUNCTION failproof_guard.refuse_definition() RETURNS event_trigger
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    changed record;
BEGIN
    FOR changed IN
        SELECT command_tag, concat_ws(' ', object_type, object_identity) AS object
        FROM pg_event_trigger_ddl_commands()
        WHERE objid IS NOT NULL AND failproof_guard.is_ours(classid, objid, objsubid)
    LOOP
        IF current_user <> 'failproof_migrator' THEN
            RAISE EXCEPTION '% of % refused: the schema failproof is guarded',
                changed.command_tag, changed.object
                USING ERRCODE = 'FP004', HINT = 'Schema changes go through `failproof-es db init`.';
        END IF;
        INSERT INTO failproof.schema_changes (command, object)
        VALUES (changed.command_tag, changed.object);
    END LOOP;
    -- These two name none of our objects: look at what they led to.
    IF tg_tag = 'GRANT' AND EXISTS (
        SELECT FROM pg_class c
        CROSS JOIN aclexplode(c.relacl) AS granted
        WHERE c.relnamespace = to_regnamespace('failproof')
            AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
            AND granted.grantee <> c.relowner
            AND granted.privilege_type <> 'SELECT'
    ) THEN
        RAISE EXCEPTION 'GRANT refused: nobody but failproof_owner may change what is in failproof'
            USING ERRCODE = 'FP004';
    END IF;
    IF EXISTS (
        SELECT FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhparent
        WHERE c.relnamespace = to_regnamespace('failproof')
    ) THEN
        RAISE EXCEPTION '% refused: a table that inherits from the log would add rows to it', tg_tag
            USING ERRCODE = 'FP004';
    END IF;
END;
$$;

CREATE OR REPLACE FUNCTION failproof_guard.refuse_drop() RETURNS event_trigger
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    dropped record;
BEGIN
    FOR dropped IN
        SELECT object_type, object_identity
        FROM pg_event_trigger_dropped_objects()
        WHERE schema_name IN ('failproof', 'failproof_guard')
            OR address_names[1] IN ('failproof', 'failproof_guard')
    LOOP
        IF current_user <> 'failproof_migrator' THEN
            RAISE EXCEPTION '% refused: it drops % %, and the schema failproof is guarded',
                tg_tag, dropped.object_type, dropped.object_identity
                USING ERRCODE = 'FP004', HINT = 'Schema changes go through `failproof-es db init`.';
        END IF;
        IF to_regclass('failproof.schema_changes') IS NOT NULL THEN
            INSERT INTO failproof.schema_changes (command, object)
            VALUES (tg_tag, concat_ws(' ', 'drops', dropped.object_type, dropped.object_identity));
        END IF;
    END LOOP;
END;
$$;

-- ALTER TABLE ... USING would put new bytes into every row without any UPDATE. The migrator
-- may not either.
CREATE OR REPLACE FUNCTION failproof_guard.refuse_rewrite() RETURNS event_trigger
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF EXISTS (
        SELECT FROM pg_class
        WHERE oid = pg_event_trigger_table_rewrite_oid()
            AND relnamespace = 'failproof'::regnamespace
    ) THEN
        RAISE EXCEPTION '% refused: it rewrites the rows of %',
            tg_tag, pg_event_trigger_table_rewrite_oid()::regclass
            USING ERRCODE = 'FP004';
    END IF;
END;
$$;

CREATE EVENT TRIGGER failproof_definitions_stay ON ddl_command_end
    EXECUTE FUNCTION failproof_guard.refuse_definition();
CREATE EVENT TRIGGER failproof_objects_stay ON sql_drop
    EXECUTE FUNCTION failproof_guard.refuse_drop();
CREATE EVENT TRIGGER failproof_rows_are_not_rewritten ON table_rewrite
    EXECUTE FUNCTION failproof_guard.refuse_rewrite();
ALTER EVENT TRIGGER failproof_definitions_stay ENABLE ALWAYS;
ALTER EVENT TRIGGER failproof_objects_stay ENABLE ALWAYS;
ALTER EVENT TRIGGER failproof_rows_are_not_rewritten ENABLE ALWAYS;
