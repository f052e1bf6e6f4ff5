"""Code that the engine's login puts where others read, and what names it.

It may take on the projector's role, which owns the read models and the collections: a view
there can call a function, which runs with the rights of whoever reads the view.
"""

from __future__ import annotations

import json
from typing import Any

import psycopg
import pytest

from failproof_es.store.schema.installation import PROJECTOR
from projections.runner import catch_up, prepare, rebuild
from tests.acceptance.attacks.conftest import Attacked

LOOK = (
    "CREATE OR REPLACE FUNCTION {schema}.look() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN "
    "IF (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) THEN "
    "CREATE TABLE IF NOT EXISTS public.taken AS SELECT current_user::text AS taken_by; END IF; "
    "RETURN true; END $$"
)
PLANTED = (
    LOOK.format(schema="projections"),
    "ALTER VIEW projections.run_results RENAME TO run_results_as_they_were",
    "CREATE VIEW projections.run_results AS SELECT * FROM projections.run_results_as_they_were "
    "WHERE projections.look()",
)
READING = "SELECT case_id, answer FROM projections.run_results"


@pytest.fixture
def projected(log: Attacked) -> Attacked:
    """The log with its read models."""
    with log.engine() as store, store.connect() as connection:
        prepare(connection)
        while catch_up(connection):
            pass
    return log


def as_engine(log: Attacked, *statements: str) -> None:
    """What the engine's login does, with no right but its own."""
    with log.engine() as store, store.connect() as connection:
        connection.execute(f"SET ROLE {PROJECTOR}".encode())
        for statement in statements:
            connection.execute(statement.encode())


def taken(log: Attacked) -> list[tuple[Any, ...]]:
    [(there,)] = log.fetch("SELECT to_regclass('public.taken') IS NOT NULL")
    return log.fetch("SELECT taken_by FROM public.taken") if there else []


def not_as_installed(log: Attacked) -> list[str]:
    told: list[str] = json.loads(log.command("db", "status", "--json").stdout)["not_as_installed"]
    return told


def test_a_view_with_code_in_it_runs_with_the_rights_of_who_reads_it_and_is_named(
    projected: Attacked,
) -> None:
    assert not_as_installed(projected) == []
    as_engine(projected, *PLANTED)
    with projected.auditor() as connection:
        assert connection.execute(READING.encode()).fetchall()
    assert taken(projected) == []
    # This is why nobody who may more than an auditor reads here.
    assert projected.fetch(READING)
    assert taken(projected) == [("postgres",)]
    told = " ".join(not_as_installed(projected))
    assert "the function projections.look() was not installed" in told
    assert "the view projections.run_results is not the one that was installed" in told
    assert "the view projections.run_results_as_they_were was not installed" in told


PLANTS = {
    "a trigger": (
        "CREATE FUNCTION projections.quiet() RETURNS trigger LANGUAGE plpgsql AS "
        "'BEGIN RETURN NEW; END'; CREATE TRIGGER quiet BEFORE INSERT ON projections.runs "
        "FOR EACH ROW EXECUTE FUNCTION projections.quiet()",
        "trigger quiet on projections.runs",
    ),
    "a rule": (
        "CREATE RULE quiet AS ON INSERT TO projections.runs DO ALSO SELECT 1",
        "rule quiet on projections.runs",
    ),
    "a default": (
        f"{LOOK.format(schema='projections')}; "
        "ALTER TABLE projections.runs ALTER name SET DEFAULT projections.look()::text",
        "column projections.runs.name",
    ),
    "a constraint": (
        f"{LOOK.format(schema='projections')}; "
        "ALTER TABLE projections.runs ADD CONSTRAINT quiet CHECK (projections.look())",
        "constraint quiet on projections.runs",
    ),
    "a policy": (
        "ALTER TABLE projections.runs ENABLE ROW LEVEL SECURITY; "
        "CREATE POLICY quiet ON projections.runs USING (status <> 'failed')",
        "policy quiet on projections.runs",
    ),
    "a table of one's own": ("CREATE TABLE projections.mine (n integer)", "projections.mine"),
    "a function beside what a rebuild makes": (
        LOOK.format(schema="projections_building"),
        "function projections_building.look()",
    ),
    "a collection": (
        "CREATE OR REPLACE FUNCTION promptguard.opened(state bytea) RETURNS json "
        "LANGUAGE sql STABLE STRICT AS $$ SELECT '{}'::json $$",
        "function promptguard.opened(bytea)",
    ),
}


@pytest.mark.slow
def test_what_the_engines_login_puts_beside_the_read_models_is_named(projected: Attacked) -> None:
    as_engine(projected, *(statement for statement, _ in PLANTS.values()))
    differences = not_as_installed(projected)
    for plant, (_, named) in PLANTS.items():
        assert any(named in difference for difference in differences), plant


def test_what_belongs_to_another_role_is_named(projected: Attacked) -> None:
    projected.superuser.execute("ALTER TABLE projections.runs OWNER TO postgres")
    assert "the relation projections.runs belongs to postgres" in not_as_installed(projected)


def test_a_rebuild_leaves_nothing_to_be_named(projected: Attacked) -> None:
    with projected.engine() as store, store.connect() as connection:
        rebuild(connection)
    assert not_as_installed(projected) == []
    with projected.auditor() as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute(PLANTED[0].encode())
