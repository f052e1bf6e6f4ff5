"""Attacks on what stands in the schema: views, defaults, settings that answer otherwise.

Each leaves rows and tree alone. `verify`, `db status` and `start` name it by the same query,
which asks no database what it should be.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import psycopg
import pytest
from psycopg import sql

from failproof_es.assurance.checking.findings import IN_BETWEEN
from failproof_es.store.connecting import connect
from failproof_es.store.schema.definitions import differences
from failproof_es.store.schema.installation import AUDITOR, PROJECTOR, WRITER
from tests.acceptance.attacks.conftest import Attacked, found
from tests.acceptance.commands import run, write_configuration, write_suite

LIES = {
    "the log for people without failures": (
        "CREATE OR REPLACE VIEW failproof.event_log AS SELECT notification_id AS position, "
        "originator_id AS stream_id, originator_version AS stream_version, topic AS event_type, "
        "run_id, recorded_at, convert_from(state, 'UTF8')::json AS payload FROM failproof.events "
        "WHERE topic <> 'RunFailed'",
        "view failproof.event_log",
    ),
    "the list of changes without the last one": (
        "CREATE OR REPLACE VIEW failproof.schema_change_log AS SELECT command, object, "
        "changed_by, changed_at FROM failproof.schema_changes WHERE changed_at < '2020-01-01'",
        "view failproof.schema_change_log",
    ),
    "a clock of its own": (
        "ALTER TABLE failproof.events ALTER recorded_at "
        "SET DEFAULT clock_timestamp() - interval '30 days'",
        "column failproof.events.recorded_at",
    ),
    "a constraint that is gone": (
        "ALTER TABLE failproof.events DROP CONSTRAINT events_topic_is_a_name",
        "constraint events_topic_is_a_name on failproof.events",
    ),
    "a constraint that asks for less": (
        "ALTER TABLE failproof.events DROP CONSTRAINT events_topic_is_a_name, "
        "ADD CONSTRAINT events_topic_is_a_name CHECK (topic <> '') NOT VALID",
        "constraint events_topic_is_a_name on failproof.events",
    ),
    "a trigger that calls another function of that name": (
        "CREATE FUNCTION public.refuse_change() RETURNS trigger LANGUAGE plpgsql "
        "AS 'BEGIN RETURN NEW; END'; "
        "CREATE OR REPLACE TRIGGER rows_never_change BEFORE UPDATE OR DELETE "
        "ON failproof.events FOR EACH ROW EXECUTE FUNCTION public.refuse_change()",
        "trigger rows_never_change on failproof.events",
    ),
    "an index with code in it": (
        "CREATE FUNCTION public.look(t text) RETURNS text IMMUTABLE LANGUAGE sql AS 'SELECT $1'; "
        "CREATE INDEX quick ON failproof.events (public.look(topic))",
        "index quick on failproof.events",
    ),
    "a collection that tells something else": (
        "CREATE OR REPLACE FUNCTION promptguard.opened(state bytea) RETURNS json LANGUAGE sql "
        "STABLE STRICT AS $$ SELECT '{}'::json $$",
        "function promptguard.opened(bytea)",
    ),
    "a guard that guards nothing": (
        "CREATE OR REPLACE FUNCTION failproof_guard.refuse_drop() RETURNS event_trigger "
        "LANGUAGE plpgsql AS 'BEGIN END'",
        "function failproof_guard.refuse_drop()",
    ),
    "a function of one's own": (
        "CREATE FUNCTION failproof.count(anyelement) RETURNS bigint LANGUAGE sql AS 'SELECT 1'",
        "function failproof.count(anyelement)",
    ),
}


WEAKENED = "a constraint that asks for less"
"""It would hide that the constraint is gone."""


@pytest.mark.parametrize("lies", [set(LIES) - {WEAKENED}, {WEAKENED}], ids=["most", WEAKENED])
def test_what_is_not_as_it_was_installed_is_named(lies: set[str], log: Attacked) -> None:
    log.tamper(*(statement for lie, (statement, _) in LIES.items() if lie in lies))
    result = log.verify(outside=True)
    assert found(result) == {IN_BETWEEN}
    status = json.loads(log.command("db", "status", "--json").stdout)["not_as_installed"]
    for lie in lies:
        named = LIES[lie][1]
        assert [finding for finding in result.findings if named in finding.message], lie
        assert [difference for difference in status if named in difference], lie


FAKE = (
    "CREATE SCHEMA quiet; "
    "CREATE FUNCTION quiet.pg_get_viewdef(oid) RETURNS text LANGUAGE sql AS $$ SELECT "
    "replace(pg_catalog.pg_get_viewdef($1), ' WHERE (topic <> ''RunFailed''::text)', '') $$; "
    "CREATE FUNCTION quiet.pg_get_functiondef(oid) RETURNS text LANGUAGE sql AS $$ SELECT '' $$; "
    "CREATE FUNCTION quiet.count(\"any\") RETURNS bigint LANGUAGE internal AS 'int8inc'; "
    "GRANT USAGE ON SCHEMA quiet TO PUBLIC"
)


@pytest.fixture
def given(log: Attacked) -> Iterator[None]:
    """Settings last longer than a database: they are taken back."""
    yield
    for role in (AUDITOR, WRITER, PROJECTOR):
        log.superuser.execute(sql.SQL("ALTER ROLE {} RESET ALL").format(sql.Identifier(role)))


@pytest.mark.usefixtures("given")
def test_functions_that_a_search_path_puts_before_the_servers_own_are_not_asked(
    log: Attacked,
) -> None:
    log.tamper(FAKE, LIES["the log for people without failures"][0])
    log.superuser.execute(f"ALTER ROLE {AUDITOR} SET search_path = quiet, pg_catalog".encode())
    log.superuser.execute(f"ALTER ROLE {WRITER} SET search_path = quiet, pg_catalog".encode())
    # Even on a connection that was opened by others: the fake one answers until it is looked at.
    with log.auditor() as connection:
        assert connection.execute("SHOW search_path").fetchone() == ("quiet, pg_catalog",)
    messages = [each.message for each in log.verify().findings]
    assert any("view failproof.event_log is not the one" in message for message in messages)
    assert any(
        f"setting search_path = quiet, pg_catalog of the role {AUDITOR}" in message
        for message in messages
    )
    told = log.command("db", "status", "--json")
    assert "view failproof.event_log" in told.stdout


def test_every_connection_of_ours_looks_nowhere_but_in_the_servers_own_schema(
    log: Attacked,
) -> None:
    with log.engine() as store:
        for connection in (store.connect(), store.connect(autocommit=False)):
            with connection:
                path = connection.execute("SHOW search_path").fetchone()
                assert path == ("pg_catalog, pg_temp",)
                connection.rollback()
                assert connection.execute("SHOW search_path").fetchone() == path
        with store.log.factory.datastore.get_connection() as pooled:  # type: ignore[attr-defined]
            row = pooled.execute("SHOW search_path").fetchone()
            assert row == {"search_path": "pg_catalog, pg_temp"}


def test_each_setting_that_makes_the_server_answer_otherwise_is_named(log: Attacked) -> None:
    statements = {
        "ALTER DATABASE {} SET search_path = public, pg_catalog": "of every role",
        "ALTER DATABASE {} SET session_replication_role = replica": "of every role",
        "ALTER ROLE failproof_auditor IN DATABASE {} SET row_security = off": AUDITOR,
        "ALTER ROLE failproof_writer IN DATABASE {} SET role = failproof_projector": WRITER,
        "ALTER ROLE failproof_writer IN DATABASE {} SET default_transaction_read_only = on": WRITER,
    }
    database = sql.Identifier(log.superuser.info.dbname)
    for statement in statements:
        log.superuser.execute(sql.SQL(statement).format(database))
    named = [difference.what for difference in differences(log.superuser)]
    assert len(named) == len(statements)
    for statement, role in statements.items():
        setting = statement.partition(" SET ")[2]
        assert [what for what in named if f"setting {setting}" in what and role in what], statement


@pytest.mark.usefixtures("given")
def test_no_setting_that_an_auditor_gives_itself_spoils_a_verification(log: Attacked) -> None:
    """Any role may set its own defaults, and they outlive its session."""
    auditor = log.url.replace(f"//{WRITER}@", f"//{AUDITOR}@")
    with psycopg.connect(auditor, autocommit=True) as connection:
        for setting in (
            "bytea_output = escape", "client_encoding = LATIN1", "statement_timeout = 1",
            "transaction_timeout = 1", "idle_in_transaction_session_timeout = 1",
            "idle_session_timeout = 1", "DateStyle = 'German'",
        ):  # fmt: skip
            connection.execute(f"ALTER ROLE {AUDITOR} SET {setting}".encode())
    home = str(log.folder)  # nothing is kept there
    said = log.command(
        "verify", "--key", log.public_key, "--json", url=auditor, FAILPROOF_ES_HOME=home
    )
    findings = json.loads(said.stdout)["findings"]
    assert [each for each in findings if "setting" not in each["message"]] == []
    assert said.exit_code == (1 if findings else 0), said.output


def test_a_setting_that_changes_no_answer_is_nobodys_business(log: Attacked) -> None:
    name = sql.Identifier(log.superuser.info.dbname)
    for statement in (
        "ALTER DATABASE {} SET work_mem = '64MB'",
        "ALTER DATABASE {} SET search_path = app, public",
        "ALTER ROLE failproof_auditor IN DATABASE {} SET statement_timeout = 0",
    ):
        log.superuser.execute(sql.SQL(statement).format(name))
    assert differences(log.superuser) == []


def test_whoever_begins_a_run_is_told_what_is_not_as_installed(
    log: Attacked, mock_url: str
) -> None:
    log.tamper(LIES["the log for people without failures"][0])
    write_suite(log.folder, 1)
    write_configuration(log.folder, mock_url)
    done = run(log.url, "start", "run.yaml", cwd=log.folder)
    assert "not as installed: the view failproof.event_log" in done.stderr, done.stderr


def test_an_unchanged_log_is_as_it_was_installed(log: Attacked) -> None:
    with connect(log.url) as connection:
        assert differences(connection) == []
    with log.auditor() as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute("CREATE VIEW failproof.mine AS SELECT 1")
