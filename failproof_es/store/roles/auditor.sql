-- failproof_auditor reads: every view of the log, and the read models. Grant it to a login
-- of your own:  GRANT failproof_auditor TO jane
DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'failproof_auditor') THEN
        CREATE ROLE failproof_auditor NOLOGIN NOINHERIT;
    END IF;
EXCEPTION WHEN duplicate_object OR unique_violation THEN
    NULL; -- made meanwhile from another database: roles belong to the whole server
END;
$$;

REVOKE ALL ON SCHEMA failproof FROM failproof_auditor;
REVOKE ALL ON ALL TABLES IN SCHEMA failproof FROM failproof_auditor;
REVOKE ALL ON ALL ROUTINES IN SCHEMA failproof FROM failproof_auditor;
GRANT USAGE ON SCHEMA failproof TO failproof_auditor;
GRANT EXECUTE ON FUNCTION failproof.cost_usd(json, json, timestamptz) TO failproof_auditor;
GRANT SELECT ON
    failproof.stored_events,
    failproof.archived_event_list,
    failproof.append_login_list,
    failproof.event_log,
    failproof.readable_log,
    failproof.audit_log,
    failproof.sent_requests,
    failproof.run_list,
    failproof.lease_list,
    failproof.review_claim_list,
    failproof.run_shard_list,
    failproof.run_budget_list,
    failproof.shard_budget_list,
    failproof.provider_limit_list,
    failproof.limit_share_list,
    failproof.price_list,
    failproof.migration_log,
    failproof.installation_log,
    failproof.schema_change_log,
    failproof.ledger_origin,
    failproof.ledger_tile_list,
    failproof.checkpoint_list,
    failproof.question_set_list,
    failproof.question_asked_list,
    failproof.question_shared_list,
    failproof.asking_list,
    failproof.run_asked_list,
    failproof.project_list,
    failproof.project_grant_list,
    failproof.person_login_list,
    failproof.project_run_list
TO failproof_auditor;
GRANT EXECUTE ON FUNCTION failproof.readable(json), failproof.sent_bodies(uuid)
TO failproof_auditor;

-- The read models come and go: what the projector makes from now on can be read, too. The
-- views in promptguard call functions of their own, as whoever reads them.
ALTER DEFAULT PRIVILEGES FOR ROLE failproof_projector
    GRANT SELECT ON TABLES TO failproof_auditor, failproof_writer;
ALTER DEFAULT PRIVILEGES FOR ROLE failproof_projector REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;
ALTER DEFAULT PRIVILEGES FOR ROLE failproof_projector
    GRANT EXECUTE ON FUNCTIONS TO failproof_auditor, failproof_writer;
GRANT USAGE ON SCHEMA projections, promptguard TO failproof_auditor, failproof_writer;
GRANT SELECT ON ALL TABLES IN SCHEMA projections, promptguard
TO failproof_auditor, failproof_writer;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA promptguard FROM PUBLIC;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA promptguard TO failproof_auditor, failproof_writer;
