"""A run begins once and whole, whether or not its commit is acknowledged."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

import psycopg
import pytest

from failproof_es.store.embedded.server import EmbeddedServer
from failproof_es.store.outage import LogUnavailable, Outage
from failproof_es.store.reading.reader import find
from failproof_es.store.store import Store
from tests.acceptance.commands import invoke, mock_server, write_configuration, write_suite
from tests.integration.store.test_experiments import begin
from tests.servers.postgres_proxy import LosesACommit

MARK = b"number_run"


def runs(store: Store) -> list[tuple[int, UUID]]:
    with store.connect() as connection:
        return connection.execute("SELECT run_number, run_id FROM failproof.run_list").fetchall()


def test_a_run_whose_commit_nobody_acknowledged_has_begun(
    store: Store, postgres_server: EmbeddedServer
) -> None:
    with (
        LosesACommit(postgres_server, MARK) as proxy,
        Store(proxy.url_of(store.url)) as behind,
    ):
        started = begin(behind, "a", "b")
        assert proxy.lost.is_set()
        assert begin(behind, "a", "b").attempt == 2
    assert runs(store)[0] == (1, started.run_id)
    with store.connect() as connection:
        rows = list(find(connection, run_id=started.run_id))
    assert [row.topic for row in rows] == ["RunStarted", "CasesPlanned"]
    assert rows[0].event() == started


def test_a_run_whose_commit_never_arrived_has_not_begun(
    store: Store, postgres_server: EmbeddedServer
) -> None:
    with (
        LosesACommit(postgres_server, MARK, passed_on=False) as proxy,
        Store(proxy.url_of(store.url)) as behind,
    ):
        with pytest.raises(psycopg.OperationalError):
            begin(behind, "a")
        assert runs(store) == []
        assert begin(behind, "a").run_number == 1


def test_where_nobody_can_say_whether_it_has_begun_the_run_is_named(
    store: Store, postgres_server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Store, "outage", Outage(longest_s=0.3))
    with (
        LosesACommit(postgres_server, MARK, then_away=True) as proxy,
        Store(proxy.url_of(store.url)) as behind,
        pytest.raises(LogUnavailable) as raised,
    ):
        begin(behind, "a")
    [(number, run_id)] = runs(store)
    assert f"whether run {number} ({run_id}) was recorded is not known: " in str(raised.value)


def test_a_command_goes_on_with_the_run_that_it_began(
    store: Store, postgres_server: EmbeddedServer, tmp_path: Path
) -> None:
    write_suite(tmp_path, 2)
    with mock_server(latency_ms=0) as url, LosesACommit(postgres_server, MARK) as proxy:
        write_configuration(tmp_path, url)
        done = invoke(proxy.url_of(store.url), "start", "run.yaml", "--quiet", cwd=tmp_path)
        assert proxy.lost.is_set()
    assert done.exit_code == 0, done.output
    assert "run 1 acceptance: completed" in done.output
    assert len(runs(store)) == 1
