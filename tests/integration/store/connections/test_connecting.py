"""What a role is given beside its rights: no limit of it ends a statement of ours."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo

from failproof_es.console.database import ReadOnlyDatabase
from failproof_es.problems import InvalidInput
from failproof_es.store import connecting
from failproof_es.store.connecting import connect
from failproof_es.store.embedded.server import EmbeddedServer
from failproof_es.store.schema.installation import WRITER
from failproof_es.store.store import Store
from tests.conftest import as_administrator
from tests.servers.postgres_proxy import RefusesOptions

LIMITS = {
    "statement_timeout", "transaction_timeout", "lock_timeout",
    "idle_in_transaction_session_timeout", "idle_session_timeout",
}  # fmt: skip
OWN = {**dict.fromkeys(LIMITS, "0"), "idle_in_transaction_session_timeout": "60000"}
BEGAN_WITH = "SELECT name, reset_val FROM pg_settings WHERE name = ANY (%s)"
"""What a setting was when the session began, whatever was said since."""


@pytest.fixture
def hurried(store: Store) -> Iterator[Store]:
    """A store whose engine has a millisecond for everything."""
    role = sql.Identifier(WRITER)
    with psycopg.connect(as_administrator(store.url), autocommit=True) as administrator:
        try:
            for limit in sorted(LIMITS):
                of_role = sql.SQL("ALTER ROLE {} SET {} = 1").format(role, sql.Identifier(limit))
                administrator.execute(of_role)
            yield store
        finally:
            administrator.execute(sql.SQL("ALTER ROLE {} RESET ALL").format(role))


def limits(connection: psycopg.Connection[Any], statement: str = BEGAN_WITH) -> dict[str, str]:
    with connection.cursor(row_factory=psycopg.rows.tuple_row) as cursor:
        return dict(cursor.execute(statement, (sorted(LIMITS),)).fetchall())


def now(connection: psycopg.Connection[Any]) -> dict[str, str]:
    return limits(connection, BEGAN_WITH.replace("reset_val", "setting"))


def test_a_session_begins_without_the_time_limits_of_its_role(
    hurried: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connecting, "_versions", {})
    with hurried.connect() as first:  # the version is not known yet: the session learned it
        assert now(first) == OWN
    with hurried.connect() as connection:
        assert limits(connection) == now(connection) == OWN
    with hurried.log.factory.datastore.get_connection() as pooled:  # type: ignore[attr-defined]
        assert limits(pooled) == now(pooled) == OWN
    for _ in range(20):
        with hurried.connect() as connection:
            assert connection.execute("SELECT pg_sleep(0.01)").fetchone() is not None


def test_a_setting_that_the_server_does_not_know_is_left_out(
    hurried: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PostgreSQL before 17 has no `transaction_timeout`."""
    later = connecting._OWN_SETTINGS.replace("'transaction_timeout'", "'of_a_later_server'")
    monkeypatch.setattr(connecting, "_OWN_SETTINGS", later)
    with hurried.connect() as connection:
        connection.execute("SET lock_timeout = 7")
        connecting.use_own_names(connection)
        assert now(connection) == OWN


def test_options_that_the_url_or_the_environment_names_stay(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    with connect(make_conninfo(store.url, options="-c work_mem=77kB")) as connection:
        assert connection.execute("SHOW work_mem").fetchone() == ("77kB",)
        assert limits(connection) == OWN
    monkeypatch.setenv("PGOPTIONS", "-c work_mem=78kB")
    with store.connect() as connection:
        assert connection.execute("SHOW work_mem").fetchone() == ("78kB",)
        assert limits(connection) == OWN


@pytest.mark.parametrize(
    ("refusal", "left"),
    [
        ('unrecognized configuration parameter "{}"', {"transaction_timeout"}),
        ("unsupported startup parameter: options", LIMITS),
        ("unsupported startup parameter in options: {}", LIMITS),
    ],
    ids=["older server", "pooler", "pooler that reads options"],
)
def test_what_refuses_a_limit_gets_a_connection_without_it_and_is_asked_once(
    store: Store, postgres_server: EmbeddedServer, refusal: str, left: set[str]
) -> None:
    with RefusesOptions(postgres_server, refusal, sorted(left)) as proxy:
        url = make_conninfo(proxy.url_of(store.url), options="")
        with connect(url) as connection:
            assert now(connection) == OWN
        with Store(url) as through:
            pool = through.log.factory.datastore  # type: ignore[attr-defined]
            with pool.get_connection() as pooled:
                assert now(pooled) == OWN
        assert (proxy.asked > 2, proxy.refused) == (True, 1)
    assert any(kept == left for kept in connecting._refused.values())


def test_another_refusal_is_told_as_it_is_and_nobody_asks_twice(
    store: Store, postgres_server: EmbeddedServer
) -> None:
    with RefusesOptions(postgres_server, "no more connections", ["statement_timeout"]) as proxy:
        with pytest.raises(psycopg.OperationalError, match="no more connections"):
            connect(proxy.url_of(store.url))
        assert proxy.asked == proxy.refused == 1


def test_a_server_is_never_asked_for_a_limit_that_its_version_lacks(
    store: Store, postgres_server: EmbeddedServer
) -> None:
    """It would refuse the connection, and write FATAL into its log."""
    lacking = 'unrecognized configuration parameter "{}"'
    with RefusesOptions(postgres_server, lacking, ["transaction_timeout"], version="15.4") as old:
        for _ in range(3):
            with connect(old.url_of(store.url)) as connection:
                assert now(connection) == OWN
        assert (old.asked, old.refused) == (3, 0)


def test_a_server_that_is_too_old_is_refused_before_anything_is_sent(
    store: Store, postgres_server: EmbeddedServer
) -> None:
    with RefusesOptions(postgres_server, "", [], version="14.12") as old:
        for _ in range(2):
            with pytest.raises(InvalidInput, match="is PostgreSQL 14, which is not") as refused:
                connect(old.url_of(store.url))
            assert [problem.code for problem in refused.value.problems] == ["postgresql-too-old"]
        assert old.asked == 2


def test_a_pooler_that_reports_no_version_is_not_taken_for_an_old_server(
    store: Store, postgres_server: EmbeddedServer
) -> None:
    with (
        RefusesOptions(postgres_server, "", [], version="pooler 1.2") as pooler,
        connect(pooler.url_of(store.url)) as connection,
    ):
        assert connection.info.server_version == 0
        assert now(connection) == OWN


def test_a_first_transaction_that_a_limit_of_the_role_ends_is_begun_again(
    hurried: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connecting, "_versions", {})
    lifted = iter([False])
    real = connecting._lifted
    monkeypatch.setattr(connecting, "_lifted", lambda *asked: next(lifted, True) and real(*asked))
    with hurried.connect() as connection:
        assert limits(connection) == now(connection) == OWN


def test_every_session_has_the_same_settings_whichever_door_it_came_by(store: Store) -> None:
    """As PostgreSQL itself sees them; a session by a socket has no keepalives to show."""
    console = ReadOnlyDatabase(store.url, connections=1, statement_timeout_s=7.0)
    pool = store.log.factory.datastore  # type: ignore[attr-defined]
    doors = {"connect": store.connect, "lend": store.lend, "log": pool.get_connection}
    for door, opened in {**doors, "console": console.apart}.items():
        with opened() as connection:
            limit = "7000" if door == "console" else "0"
            assert now(connection) == {**OWN, "statement_timeout": limit}, door
            [row] = connection.cursor(row_factory=psycopg.rows.tuple_row).execute(
                "SELECT application_name, current_setting('search_path') "
                "FROM pg_stat_activity WHERE pid = pg_backend_pid()"
            )
            assert row[0].startswith("failproof-es") and row[1] == "pg_catalog, pg_temp", door
            sent = connection.info.get_parameters()
            for name, value in connecting._PARAMETERS.items():
                assert sent.get(name) == str(value), (door, name)
    console.close()
