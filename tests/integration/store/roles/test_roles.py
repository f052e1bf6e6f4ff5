"""Who may do what: the catalog against a table, and the roles for real."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql

from failproof_es.problems import InvalidInput
from failproof_es.store.schema.installation import (
    AUDITOR,
    MIGRATOR,
    OWNER,
    PROJECTOR,
    READER,
    WRITER,
)
from failproof_es.store.store import Store
from projections.runner import catch_up, prepare
from tests.integration.store.roles.rights import EFFECTIVE, MAY

PAGE = Path(__file__).parents[4] / "docs" / "reference" / "roles.md"


@pytest.fixture
def projected(store: Store) -> Store:
    """A store whose read models exist."""
    with store.connect() as connection:
        prepare(connection)
    return store


@pytest.mark.parametrize("role", MAY)
def test_the_page_lists_the_functions_that_a_role_may_call(role: str) -> None:
    (line,) = (line for line in PAGE.read_text("utf-8").splitlines() if f"| `{role}` |" in line)
    calls = re.findall(r"`(\w+)`", line.split(" | ")[1])
    own = "EXECUTE failproof."
    assert {own + name for name in calls} == {right for right in MAY[role] if own in right}


def test_a_role_may_do_what_the_table_says_and_nothing_else_and_nobody_else_may_anything(
    projected: Store, administrator: psycopg.Connection[Any]
) -> None:
    for role, rights in MAY.items():
        rows = administrator.execute(EFFECTIVE, {"role": role}).fetchall()
        assert {row[0] for row in rows} == rights, role
    name = f"stranger_{uuid4().hex}"
    with administrator.transaction(force_rollback=True):
        administrator.execute(sql.SQL("CREATE ROLE {}").format(sql.Identifier(name)))
        rows = administrator.execute(EFFECTIVE, {"role": name}).fetchall()
    assert rows == []


def test_no_role_has_power_over_the_server(administrator: psycopg.Connection[Any]) -> None:
    mighty = administrator.execute(
        "SELECT rolname FROM pg_roles WHERE rolname LIKE 'failproof%%' AND "
        "(rolsuper OR rolcreaterole OR rolcreatedb OR rolreplication OR rolbypassrls)"
    ).fetchall()
    assert mighty == []


def test_who_is_a_member_of_what(administrator: psycopg.Connection[Any]) -> None:
    memberships = administrator.execute(
        "SELECT member::regrole::text, roleid::regrole::text, inherit_option, admin_option "
        "FROM pg_auth_members WHERE roleid::regrole::text LIKE 'failproof%%' "
        "AND member::regrole::text LIKE 'failproof%%' ORDER BY 1, 2"
    ).fetchall()
    assert memberships == [
        (AUDITOR, READER, False, False),
        (MIGRATOR, OWNER, True, False),
        (MIGRATOR, PROJECTOR, True, False),
        (WRITER, PROJECTOR, False, False),
        (WRITER, READER, False, False),
    ]


def test_owner_and_migrator_cannot_log_in_and_the_writer_becomes_nobody_mightier(
    store: Store,
) -> None:
    for role in (OWNER, MIGRATOR):
        with pytest.raises(psycopg.OperationalError, match="not permitted to log in"):
            psycopg.connect(store.url.replace(f"//{WRITER}@", f"//{role}@"))
    with store.connect() as connection:
        for role in (OWNER, MIGRATOR, AUDITOR, "postgres"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege, match=role):
                connection.execute(sql.SQL("SET ROLE {}").format(sql.Identifier(role)))


def test_names_that_a_writer_puts_in_the_way_are_not_used(store: Store) -> None:
    """A function that runs as its owner must not find tables or operators of its caller's."""
    run = uuid4()
    with store.connect() as connection:
        connection.execute("CREATE TEMP TABLE run_numbers (run_number bigint, run_id uuid)")
        connection.execute("CREATE TEMP TABLE unnest (n integer)")
        connection.execute("SET search_path = pg_temp, failproof, pg_catalog")
        connection.execute("SELECT failproof.number_run(%s)", (run,))
        assert connection.execute("SELECT count(*) FROM pg_temp.run_numbers").fetchone() == (0,)
        unfixed = connection.execute(
            "SELECT proname FROM pg_proc WHERE pronamespace = 'failproof'::regnamespace "
            "AND NOT coalesce('search_path=pg_catalog, pg_temp' = ANY (proconfig), false) "
            "AND prosqlbody IS NULL"  # one whose names were resolved when it was made
        ).fetchall()
    assert unfixed == []


def test_what_the_writer_projects_belongs_to_the_projector(projected: Store) -> None:
    with projected.connect() as connection:
        owners = connection.execute(
            "SELECT DISTINCT tableowner FROM pg_tables WHERE schemaname = 'projections'"
        ).fetchall()
        assert owners == [(PROJECTOR,)]
        assert connection.execute("SELECT count(*) FROM projections.run_results").fetchone() == (0,)
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("DELETE FROM projections.positions")


def test_the_projector_follows_the_log_and_cannot_append(projected: Store) -> None:
    url = projected.url.replace(f"//{WRITER}@", f"//{PROJECTOR}@")
    with psycopg.connect(url, autocommit=True) as connection:
        prepare(connection)
        assert catch_up(connection) == 0
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="function append"):
            connection.execute(
                "SELECT failproof.append(ARRAY[%s]::uuid[], '{1}', '{X}', '{}', '{null}', '{}')",
                (uuid4(),),
            )


def test_a_user_without_any_role_is_told_what_to_ask_for(
    store: Store, login: Callable[[str], str]
) -> None:
    url = store.url.replace(f"//{WRITER}@", f"//{login('')}@")
    with pytest.raises(InvalidInput, match=r"failproof_auditor.*\[permission-denied\]"):
        Store.open(url)
