"""What each role may do: the table that the catalog is compared with."""

from __future__ import annotations

from failproof_es.store.schema.installation import (
    ARCHIVER,
    AUDITOR,
    MIGRATOR,
    OWNER,
    PROJECTOR,
    READER,
    WRITER,
)

ROLES = (OWNER, MIGRATOR, WRITER, PROJECTOR, AUDITOR, ARCHIVER, READER)

TABLES = {
    f"SELECT failproof.{table}"
    for table in (
        "append_logins", "archived_events", "askings", "events", "installations", "leases",
        "ledger_checkpoints", "ledger_identity", "ledger_tiles", "limit_shares", "migrations",
        "person_logins", "project_grants", "projects", "provider_limits", "question_sets",
        "questions_asked", "questions_shared", "review_claims", "run_budgets", "run_labels",
        "run_numbers", "run_shards", "runs_asked", "schema_changes", "shard_budgets",
    )
}  # fmt: skip
"""The tables behind the views, which ask on behalf of their reader."""
READS = {
    *TABLES,
    "SELECT failproof.person_login_list",
    "SELECT failproof.project_grant_list",
    "SELECT failproof.project_list",
    "SELECT failproof.project_run_list",
    "SELECT failproof.event_log",
    "SELECT failproof.readable_log",
    "SELECT failproof.audit_log",
    "SELECT failproof.sent_requests",
    "EXECUTE failproof.readable",
    "EXECUTE failproof.sent_bodies",
    "EXECUTE failproof.cost_usd",
    "SELECT failproof.checkpoint_list",
    "SELECT failproof.installation_log",
    "SELECT failproof.ledger_origin",
    "SELECT failproof.ledger_tile_list",
    "SELECT failproof.lease_list",
    "SELECT failproof.review_claim_list",
    "SELECT failproof.migration_log",
    "SELECT failproof.price_list",
    "SELECT failproof.run_list",
    "SELECT failproof.append_login_list",
    "SELECT failproof.archived_event_list",
    "SELECT failproof.asking_list",
    "SELECT failproof.question_asked_list",
    "SELECT failproof.question_set_list",
    "SELECT failproof.question_shared_list",
    "SELECT failproof.run_asked_list",
    "SELECT failproof.run_shard_list",
    "SELECT failproof.run_budget_list",
    "SELECT failproof.shard_budget_list",
    "SELECT failproof.provider_limit_list",
    "SELECT failproof.limit_share_list",
    "SELECT failproof.schema_change_log",
    "SELECT failproof.stored_events",
    "SELECT failproof_queue.*",
    "SELECT projections.*",
    "USAGE failproof",
    "USAGE projections",
    "EXECUTE promptguard.body_text",
    "EXECUTE promptguard.closed",
    "EXECUTE promptguard.opened",
    "SELECT promptguard.*",
    "USAGE promptguard",
}
MAY = {
    READER: READS - {"SELECT failproof_queue.*"}
    | {
        "EXECUTE failproof.reading_person",
        "EXECUTE failproof.visible_prompts",
        "EXECUTE failproof.visible_runs",
        "EXECUTE failproof.visible_side_events",
    },
    AUDITOR: READS,
    WRITER: READS
    | {
        "EXECUTE failproof.claim_lease",
        "EXECUTE failproof.dead_leases",
        "EXECUTE failproof.claim_review",
        "EXECUTE failproof.release_review",
        "EXECUTE failproof.renew_leases",
        "EXECUTE failproof.release_lease",
        "EXECUTE failproof.open_shards",
        "EXECUTE failproof.close_shards",
        "EXECUTE failproof.begin_budget",
        "EXECUTE failproof.count_spending",
        "EXECUTE failproof.reserve_spending",
        "EXECUTE failproof.share_limits",
        "EXECUTE failproof.clear_limits",
        "INSERT failproof_queue.*",
        "UPDATE failproof_queue.*",
        "DELETE failproof_queue.*",
        "EXECUTE failproof.add_checkpoint",
        "EXECUTE failproof.add_tile",
        "EXECUTE failproof.begin_tree",
        "EXECUTE failproof.lock_ledger",
        "EXECUTE failproof.append",
        "EXECUTE failproof.number_run",
        "EXECUTE failproof.models_asked",
        "EXECUTE failproof.sets_that_share",
        "EXECUTE failproof.take_in_runs",
    },
    ARCHIVER: {
        "EXECUTE failproof.attach_events",
        "EXECUTE failproof.detach_run",
        "USAGE failproof",
    },
    PROJECTOR: {
        "SELECT failproof.archived_events",
        "SELECT failproof.events",
        "SELECT failproof.installations",
        "SELECT failproof.migrations",
        "SELECT failproof.run_numbers",
        "SELECT failproof.archived_event_list",
        "EXECUTE failproof.cost_usd",
        "SELECT failproof.installation_log",
        "SELECT failproof.migration_log",
        "SELECT failproof.price_list",
        "SELECT failproof.run_list",
        "SELECT failproof.stored_events",
        "EXECUTE failproof.readable",
        "USAGE failproof",
        "USAGE projections",
        "CREATE projections",
        "USAGE projections_building",
        "CREATE projections_building",
        "EXECUTE promptguard.body_text",
        "EXECUTE promptguard.closed",
        "EXECUTE promptguard.opened",
        "USAGE promptguard",
        "CREATE promptguard",
        *(
            f"{privilege} {schema}.*"
            for schema in ("projections", "promptguard")
            for privilege in (
                "SELECT", "INSERT", "UPDATE", "DELETE", "TRUNCATE", "REFERENCES", "TRIGGER",
                "MAINTAIN",
            )
        ),
    },
}  # fmt: skip
"""All that these may do in our schemas, by right, membership or for being PUBLIC."""

EFFECTIVE = """
SELECT privilege || ' ' || n.nspname || CASE n.nspname WHEN 'failproof' THEN '.' || c.relname
        ELSE '.*' END
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
CROSS JOIN unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'REFERENCES',
    'TRIGGER', 'MAINTAIN']) AS privilege
WHERE n.nspname LIKE ANY (ARRAY['failproof%%', 'projections%%', 'promptguard'])
    AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
    AND has_table_privilege(%(role)s, c.oid, privilege)
UNION
SELECT privilege || ' column ' || a.attname
FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
CROSS JOIN unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'REFERENCES']) AS privilege
WHERE c.relnamespace = 'failproof'::regnamespace AND c.relkind <> 'i' AND a.attacl IS NOT NULL
    AND has_column_privilege(%(role)s, c.oid, a.attnum, privilege)
UNION
SELECT privilege || ' sequence ' || c.relname
FROM pg_class c
CROSS JOIN unnest(ARRAY['USAGE', 'SELECT', 'UPDATE']) AS privilege
WHERE c.relnamespace = 'failproof'::regnamespace AND c.relkind = 'S'
    AND has_sequence_privilege(%(role)s, c.oid, privilege)
UNION
SELECT 'EXECUTE ' || n.nspname || '.' || p.proname
FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
WHERE n.nspname IN ('failproof', 'promptguard')
    AND has_function_privilege(%(role)s, p.oid, 'EXECUTE')
UNION
SELECT privilege || ' ' || nspname
FROM pg_namespace CROSS JOIN unnest(ARRAY['USAGE', 'CREATE']) AS privilege
WHERE nspname IN ('failproof', 'projections', 'projections_building', 'promptguard')
    AND has_schema_privilege(%(role)s, oid, privilege)
UNION
SELECT privilege || ' database'
FROM unnest(ARRAY['CREATE']) AS privilege
WHERE has_database_privilege(%(role)s, current_database(), privilege)
"""
