"""Installing as a superuser, as an owner, as the migrator, and as who may create roles."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from psycopg import sql

from failproof_es.store.embedded.server import HOME, EmbeddedServer
from failproof_es.store.schema import migration
from failproof_es.store.schema.installation import (
    AUDITOR,
    PROJECTOR,
    WRITER,
    SchemaState,
    install,
    schema_state,
)
from failproof_es.store.schema.protection_layers import layers, missing_layers
from failproof_es.store.store import Store
from projections.runner import catch_up, prepare
from tests.conftest import database_url_as
from tests.integration.store.roles.databases import given_to, names


def test_on_a_server_of_ones_own_every_layer_is_installed(database_url: str) -> None:
    with psycopg.connect(database_url, autocommit=True) as connection:
        assert names(connection) == [layer.name for layer in layers(connection)]
        done = install(connection)
        assert [m.number for m in done.migrations] == [m.number for m in migration.migrations()]
        assert done.problems == []
        assert names(connection) == ["least privilege"]  # this connection is the superuser's
        again = install(connection)
        assert (again.migrations, again.problems) == ([], [])
        assert schema_state(connection) is SchemaState.CURRENT


def test_an_owner_of_the_database_alone_installs_the_tables(
    database_url: str, login: Callable[[str], str], returned: None
) -> None:
    url = given_to(database_url, login("NOSUPERUSER"))
    with psycopg.connect(url, autocommit=True) as connection:
        done = install(connection)
        assert [problem.partition(":")[0] for problem in done.problems] == [
            "roles/migrator.sql",
            "guards/schema_guard.sql",
        ]
        assert names(connection) == ["owner without a login", "least privilege", "guarded schema"]
        assert schema_state(connection) is SchemaState.CURRENT
        with pytest.raises(psycopg.errors.DatabaseError, match="append-only"):
            connection.execute("DELETE FROM failproof.events")
        prepare(connection)
        assert catch_up(connection) == 0


def test_with_the_migrators_role_everything_but_the_guard_is_installed(
    database_url: str, login: Callable[[str], str], returned: None
) -> None:
    name = login("NOSUPERUSER IN ROLE failproof_migrator")
    with psycopg.connect(given_to(database_url, name), autocommit=True) as connection:
        done = install(connection)
        assert [problem.partition(":")[0] for problem in done.problems] == [
            "guards/schema_guard.sql"
        ]
        assert names(connection) == ["least privilege", "guarded schema"]


def test_who_may_create_roles_installs_everything_but_the_guard(
    other_server: EmbeddedServer,
) -> None:
    """As on most managed servers: CREATEROLE, and no superuser anywhere."""
    with psycopg.connect(other_server.url, autocommit=True) as connection:
        connection.execute("CREATE ROLE managed LOGIN CREATEROLE")
        connection.execute("ALTER DATABASE failproof OWNER TO managed")
    url = other_server.url_as("managed")
    with psycopg.connect(url, autocommit=True) as connection:
        done = install(connection, logins=True)
        assert [problem.partition(":")[0] for problem in done.problems] == [
            "guards/schema_guard.sql"
        ]
        assert names(connection) == ["least privilege", "guarded schema"]
        assert install(connection).migrations == []
    with psycopg.connect(other_server.url_as(WRITER), autocommit=True) as connection:
        assert names(connection) == ["guarded schema"]


def test_what_stood_there_before_there_were_roles_is_handed_over(
    other_server: EmbeddedServer,
) -> None:
    with psycopg.connect(other_server.url, autocommit=True) as connection:
        connection.execute("CREATE ROLE owner_of_old LOGIN")
        connection.execute("ALTER DATABASE failproof OWNER TO owner_of_old")
    with psycopg.connect(other_server.url_as("owner_of_old"), autocommit=True) as connection:
        assert install(connection).problems[0].startswith("roles/owner.sql")
        assert connection.execute("TABLE promptguard.evaluations").fetchall() == []
    with psycopg.connect(other_server.url, autocommit=True) as connection:
        assert install(connection, logins=True).problems == []
        owners = connection.execute(
            "SELECT DISTINCT relowner::regrole::text FROM pg_class "
            "WHERE relnamespace = 'promptguard'::regnamespace "
            "UNION SELECT proowner::regrole::text FROM pg_proc "
            "WHERE pronamespace = 'promptguard'::regnamespace"
        ).fetchall()
    assert owners == [(PROJECTOR,)]
    with psycopg.connect(other_server.url_as(AUDITOR), autocommit=True) as connection:
        assert connection.execute("TABLE promptguard.evaluations").fetchall() == []


@pytest.mark.slow
@pytest.mark.wide
def test_many_databases_of_one_server_are_installed_at_once(other_server: EmbeddedServer) -> None:
    """Roles belong to the server: whoever comes second finds them made, at any moment."""
    databases = [f"many_{n}" for n in range(8)]
    with psycopg.connect(other_server.url, autocommit=True) as connection:
        for database in databases:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(database)))

    def install_one(database: str) -> list[str]:
        url = database_url_as(other_server, database)
        with psycopg.connect(url, autocommit=True) as connection:
            install(connection, logins=True)
        with psycopg.connect(database_url_as(other_server, database, WRITER)) as connection:
            return names(connection)

    with ThreadPoolExecutor(len(databases)) as pool:
        assert list(pool.map(install_one, databases * 2)) == [[]] * 16


def test_the_engine_is_the_writer_on_the_embedded_server(
    other_server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(HOME, str(other_server.home))
    monkeypatch.delenv("FAILPROOF_ES_DATABASE_URL", raising=False)
    with Store.open() as store, store.connect() as connection:
        users = connection.execute("SELECT current_user, session_user").fetchone()
        assert users == (WRITER, WRITER)
        assert missing_layers(connection) == []
        assert store.log.recorder.max_notification_id() is None
        [pooled] = connection.execute(
            "SELECT DISTINCT usename FROM pg_stat_activity WHERE datname = current_database()"
        ).fetchall()
        assert pooled == (WRITER,)
    assert psycopg.conninfo.conninfo_to_dict(store.projections_url)["user"] == PROJECTOR
