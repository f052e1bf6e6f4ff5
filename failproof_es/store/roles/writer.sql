-- failproof_writer is who the engine is: it appends through functions and reads through
-- views. It may take on the projector's role for the read models, and inherits none of it.
DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'failproof_writer') THEN
        CREATE ROLE failproof_writer NOLOGIN NOINHERIT;
    END IF;
    IF NOT EXISTS (
        SELECT FROM pg_auth_members
        WHERE roleid = 'failproof_projector'::regrole AND member = 'failproof_writer'::regrole
    ) THEN
        GRANT failproof_projector TO failproof_writer;
    END IF;
EXCEPTION WHEN duplicate_object OR unique_violation THEN
    NULL; -- made meanwhile from another database: roles belong to the whole server
END;
$$;

REVOKE ALL ON SCHEMA failproof FROM failproof_writer;
REVOKE ALL ON ALL TABLES IN SCHEMA failproof FROM failproof_writer;
REVOKE ALL ON ALL ROUTINES IN SCHEMA failproof FROM failproof_writer;
GRANT USAGE ON SCHEMA failproof TO failproof_writer;
GRANT EXECUTE ON FUNCTION
    failproof.append(
        uuid [], bigint [], text [], bytea [], uuid [], bytea [], uuid [], integer [], bigint []
    ),
    failproof.claim_lease(uuid, integer, text, double precision, bigint, boolean, bigint),
    failproof.renew_leases(uuid [], integer [], bigint [], double precision, bigint),
    failproof.release_lease(uuid, integer, bigint, boolean),
    failproof.dead_leases(uuid []),
    failproof.claim_review(
        uuid, text, uuid, text, uuid, bigint, text [], integer, double precision
    ),
    failproof.release_review(uuid, text, uuid, text),
    failproof.number_run(uuid),
    failproof.open_shards(uuid, bigint, integer),
    failproof.close_shards(uuid),
    failproof.begin_budget(uuid, bigint, bigint, numeric),
    failproof.count_spending(
        uuid, integer, bigint, integer [], numeric [], numeric [], bigint []
    ),
    failproof.reserve_spending(
        uuid, integer, bigint, numeric, numeric, bigint, numeric, numeric, numeric, bigint
    ),
    failproof.share_limits(
        text, text, uuid, text, bigint, double precision, integer, bigint, bigint, integer, integer,
        bigint, bigint, bigint, bigint, bigint, bigint, boolean, double precision, boolean, boolean,
        boolean
    ),
    failproof.clear_limits(text),
    failproof.cost_usd(json, json, timestamptz),
    failproof.lock_ledger(),
    failproof.add_tile(smallint, bigint, smallint, bytea, bigint []),
    failproof.add_checkpoint(bigint, text),
    failproof.begin_tree(uuid, bigint),
    failproof.readable(json),
    failproof.sent_bodies(uuid),
    failproof.models_asked(json),
    failproof.sets_that_share(uuid [], bigint),
    failproof.take_in_runs(bigint, bigint)
TO failproof_writer;
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
TO failproof_writer;
