"""What a role is given beside its rights: no limit of it ends a statement of ours."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo

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


def test_a_session_begins_without_the_time_limits_of_its_role(hurried: Store) -> None:
    lifted = dict.fromkeys(LIMITS, "0")
    with hurried.connect() as connection:
        assert limits(connection) == now(connection) == lifted
    with hurried.log.factory.datastore.get_connection() as pooled:  # type: ignore[attr-defined]
        assert limits(pooled) == now(pooled) == lifted
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
        assert now(connection) == dict.fromkeys(LIMITS, "0")


def test_options_that_the_url_or_the_environment_names_stay(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    with connect(make_conninfo(store.url, options="-c work_mem=77kB")) as connection:
        assert connection.execute("SHOW work_mem").fetchone() == ("77kB",)
        assert limits(connection) == dict.fromkeys(LIMITS, "0")
    monkeypatch.setenv("PGOPTIONS", "-c work_mem=78kB")
    with store.connect() as connection:
        assert connection.execute("SHOW work_mem").fetchone() == ("78kB",)
        assert limits(connection) == dict.fromkeys(LIMITS, "0")


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
            assert now(connection) == dict.fromkeys(LIMITS, "0")
        with Store(url) as through:
            pool = through.log.factory.datastore  # type: ignore[attr-defined]
            with pool.get_connection() as pooled:
                assert now(pooled) == dict.fromkeys(LIMITS, "0")
        assert (proxy.asked > 2, proxy.refused) == (True, 1)
    assert any(kept == left for kept in connecting._refused.values())


def test_another_refusal_is_told_as_it_is_and_nobody_asks_twice(
    store: Store, postgres_server: EmbeddedServer
) -> None:
    with RefusesOptions(postgres_server, "no more connections", ["statement_timeout"]) as proxy:
        with pytest.raises(psycopg.OperationalError, match="no more connections"):
            connect(proxy.url_of(store.url))
        assert proxy.asked == proxy.refused == 1
