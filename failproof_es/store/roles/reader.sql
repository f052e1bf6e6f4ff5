-- failproof_reader sees the rows of the runs of its person's projects, and no others: see row_security.sql.
-- Grant it, and nothing else, to a login, and name the person: `failproof-es project login LOGIN PERSON`.
DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'failproof_reader') THEN
        CREATE ROLE failproof_reader NOLOGIN;
    END IF;
EXCEPTION WHEN duplicate_object OR unique_violation THEN
    NULL; -- made meanwhile from another database: roles belong to the whole server
END;
$$;

-- Those who read everything may take it on, and inherit nothing of it: its policies would hide rows.
DO $$
DECLARE
    wider text;
BEGIN
    FOREACH wider IN ARRAY ARRAY['failproof_auditor', 'failproof_writer'] LOOP
        IF (SELECT rolinherit FROM pg_roles WHERE rolname = wider) THEN
            EXECUTE format('ALTER ROLE %I NOINHERIT', wider);
        END IF;
        IF NOT EXISTS (
            SELECT FROM pg_auth_members
            WHERE roleid = 'failproof_reader'::regrole AND member = wider::regrole
        ) THEN
            EXECUTE format('GRANT failproof_reader TO %I', wider);
        END IF;
    END LOOP;
EXCEPTION WHEN duplicate_object OR unique_violation THEN
    NULL;
END;
$$;

REVOKE ALL ON SCHEMA failproof FROM failproof_reader;
REVOKE ALL ON ALL TABLES IN SCHEMA failproof FROM failproof_reader;
REVOKE ALL ON ALL ROUTINES IN SCHEMA failproof FROM failproof_reader;
GRANT USAGE ON SCHEMA failproof, projections, promptguard TO failproof_reader;
GRANT EXECUTE ON FUNCTION
    failproof.cost_usd(json, json, timestamptz),
    failproof.readable(json),
    failproof.sent_bodies(uuid),
    failproof.reading_person(),
    failproof.visible_runs(),
    failproof.visible_side_events(),
    failproof.visible_prompts()
TO failproof_reader;

-- Whoever may read a view may read the tables behind it: a view asks on behalf of its reader, so that the
-- tables' row security holds.
GRANT SELECT ON
    failproof.append_logins,
    failproof.archived_events,
    failproof.askings,
    failproof.events,
    failproof.installations,
    failproof.leases,
    failproof.ledger_checkpoints,
    failproof.ledger_identity,
    failproof.ledger_tiles,
    failproof.limit_shares,
    failproof.migrations,
    failproof.person_logins,
    failproof.project_grants,
    failproof.projects,
    failproof.provider_limits,
    failproof.question_sets,
    failproof.questions_asked,
    failproof.questions_shared,
    failproof.review_claims,
    failproof.run_budgets,
    failproof.run_labels,
    failproof.run_numbers,
    failproof.run_shards,
    failproof.runs_asked,
    failproof.schema_changes,
    failproof.shard_budgets
TO failproof_reader, failproof_auditor, failproof_writer;
GRANT SELECT ON
    failproof.events,
    failproof.archived_events,
    failproof.run_numbers,
    failproof.migrations,
    failproof.installations
TO failproof_projector;

-- The views of failproof_auditor.
DO $$
DECLARE
    seen text;
BEGIN
    FOR seen IN
        SELECT c.relname
        FROM pg_class AS c
        CROSS JOIN aclexplode(c.relacl) AS may
        WHERE c.relnamespace = 'failproof'::regnamespace
            AND c.relkind = 'v'
            AND may.grantee = 'failproof_auditor'::regrole
            AND may.privilege_type = 'SELECT'
    LOOP
        EXECUTE format('GRANT SELECT ON failproof.%I TO failproof_reader', seen);
    END LOOP;
END;
$$;
