"""Installs the database objects of `db init`: schema, functions, roles and rights, guards, and the
views of specification 001.

Installing is idempotent. On a server where we lack some rights, the permitted part is done
and the rest is reported. `store/schema/protection_layers.py` finds, from the catalog, which
protections are then missing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache
from importlib import resources
from typing import Any, LiteralString

import psycopg
from psycopg.rows import tuple_row

from failproof_es.store.schema.migration import Migration, lock_schema, migrate, pending
from failproof_es.store.schema.queue_schema import install_queue

OWNER: LiteralString = "failproof_owner"
MIGRATOR: LiteralString = "failproof_migrator"
WRITER: LiteralString = "failproof_writer"
PROJECTOR: LiteralString = "failproof_projector"
AUDITOR: LiteralString = "failproof_auditor"
ARCHIVER: LiteralString = "failproof_archiver"
READER: LiteralString = "failproof_reader"
ROLES = (OWNER, MIGRATOR, WRITER, PROJECTOR, AUDITOR, ARCHIVER, READER)

_BEFORE: tuple[LiteralString, ...] = ("roles/owner", "roles/migrator", "roles/handover")
_AFTER: tuple[LiteralString, ...] = (
    "roles/projector",
    "roles/writer",
    "roles/auditor",
    "roles/archiver",
    "roles/reader",
)
_ROW_SECURITY: LiteralString = "roles/row_security"
_COLLECTIONS: LiteralString = "roles/reader_of_collections"
_FUNCTIONS: tuple[LiteralString, ...] = (
    "functions/refuse_change",
    "functions/refuse_old_epoch",
    "functions/leaf_of",
    "functions/perfect_root",
    "functions/current_tree",
    "functions/tree_root",
    "functions/lock_append",
    "functions/lock_ledger",
    "functions/append",
    "functions/lease_end",
    "functions/claim_lease",
    "functions/renew_leases",
    "functions/release_lease",
    "functions/dead_leases",
    "functions/claim_review",
    "functions/release_review",
    "functions/number_run",
    "functions/open_shards",
    "functions/close_shards",
    "functions/begin_budget",
    "functions/lock_budget",
    "functions/count_spending",
    "functions/reserve_spending",
    "functions/rate_share",
    "functions/share_limits",
    "functions/clear_limits",
    "functions/add_tile",
    "functions/add_checkpoint",
    "functions/begin_tree",
    "functions/detach_run",
    "functions/attach_events",
    "functions/require_whole_run",
    "functions/cost_usd",
    "functions/readable",
    "functions/sent_bodies",
    "functions/digest_uuid",
    "functions/note_access",
    "functions/reading_person",
    "functions/visible_runs",
    "functions/visible_side_events",
    "functions/visible_prompts",
    "functions/models_asked",
    "functions/sets_that_share",
    "functions/take_in_runs",
    "views/readable_log",
    "views/audit_log",
    "views/sent_requests",
    "functions/for_nobody",
)
"""Functions, and the views that functions need, each after the ones that it depends on."""
_VIEWS: tuple[LiteralString, ...] = (
    "views/schema",
    "views/functions",
    "views/opened_events",
    "views/stored_cases",
    "views/prompts",
    "views/evaluations",
    "views/test_runs",
    "views/model_configs",
)
_GUARDS: tuple[LiteralString, ...] = ("guards/schema_guard",)
_LOGINS: LiteralString = "roles/logins"
INSTALLED = (
    *_BEFORE,
    *_FUNCTIONS,
    *_AFTER,
    _ROW_SECURITY,
    _LOGINS,
    *_VIEWS,
    _COLLECTIONS,
    *_GUARDS,
)
"""Every repeatable file. All of them are run again as soon as one has changed."""


class SchemaState(Enum):
    """The schema in a database compared with the one that this version needs."""

    ABSENT = "absent"
    OUTDATED = "outdated"
    CURRENT = "current"


@dataclass(frozen=True, slots=True)
class Installation:
    """The result of `install`. `problems` quotes the refusals of the server."""

    migrations: Sequence[Migration]
    problems: Sequence[str]


def schema_state(connection: psycopg.Connection[Any]) -> SchemaState:
    """The state of the schema: unless it is current, `install` has to be run.

    Raises `InvalidInput` when a newer or a modified version made the schema.
    """
    missing = pending(connection)
    if missing is None:
        return SchemaState.ABSENT
    if missing or _installed(connection) != _sha256():
        return SchemaState.OUTDATED
    return SchemaState.CURRENT


def install(connection: psycopg.Connection[Any], *, logins: bool = False) -> Installation:
    """Create or upgrade everything, as the user of `connection`, which is in autocommit.

    With `logins` the roles may log in: for a server that only its own account can reach.
    Raises `InvalidInput` as `schema_state` does, `psycopg.Error` when not even the tables
    could be created.
    """
    with connection.transaction():
        lock_schema(connection)
        state = schema_state(connection)
        exists = state is not SchemaState.ABSENT
        before = _BEFORE if exists else _BEFORE[:2]
        problems = _try_all(connection, before)
        has_roles = not problems
        if has_roles and exists:
            # A new schema is created by this user and handed over; upgrades are by this role only.
            _become(connection, MIGRATOR)
        applied = migrate(connection)
        problems += _try_all(connection, _FUNCTIONS)
        if has_roles:
            problems += _try_all(connection, ("roles/handover",))
            _become(connection, "none")
            problems += _try_all(connection, (*_AFTER, _LOGINS) if logins else _AFTER)
        if has_roles and not problems:
            _become(connection, MIGRATOR)
            problems += _try_all(connection, (_ROW_SECURITY,))
            _become(connection, "none")
        problems += install_queue(connection, has_roles=has_roles and not problems)
        views = _VIEWS
        if has_roles and not problems:
            _become(connection, PROJECTOR)
            views = (*_VIEWS, _COLLECTIONS)
        problems += _try_all(connection, views)
        if has_roles:
            _become(connection, "none")
        problems += _try_all(connection, _GUARDS)
        connection.execute(
            "INSERT INTO failproof.installations (sha256, problems) VALUES (%s, %s)",
            (_sha256(), problems),
        )
    return Installation(applied, problems)


def _try_all(connection: psycopg.Connection[Any], names: Sequence[LiteralString]) -> list[str]:
    """Run the files in turn, up to the first that the server refuses; return that refusal."""
    for name in names:
        try:
            with connection.transaction():
                connection.execute(_sql(name))
        except psycopg.errors.InsufficientPrivilege as error:
            return [f"{name}.sql: {error.diag.message_primary}"]
    return []


def _become(connection: psycopg.Connection[Any], role: LiteralString) -> None:
    connection.execute("SELECT set_config('role', %s, true)", (role,))


def _installed(connection: psycopg.Connection[Any]) -> str | None:
    with connection.cursor(row_factory=tuple_row) as cursor:
        row = cursor.execute(
            "SELECT sha256 FROM failproof.installation_log ORDER BY installed_at DESC LIMIT 1"
        ).fetchone()
    return row[0] if row else None


@cache
def _sha256() -> str:
    """The digest of all files in `INSTALLED`, to notice a change."""
    digest = hashlib.sha256()
    for name in INSTALLED:
        digest.update(_sql(name).encode())
    return digest.hexdigest()


def _sql(name: LiteralString) -> LiteralString:
    return resources.files("failproof_es.store").joinpath(f"{name}.sql").read_text("utf-8")
