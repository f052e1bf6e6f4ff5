"""Logs of more than a tile: verified by several processes, rebuilt in shares."""

from __future__ import annotations

import psycopg
import pytest

from failproof_es.assurance.checking import ranges
from failproof_es.store.store import Store
from projections.runner import catch_up, prepare, rebuild
from tests.acceptance.archiving.conftest import Archive
from tests.acceptance.commands import write_suite

_COUNTED = (
    "SELECT (SELECT count(*) FROM projections.evaluations), "
    "(SELECT count(*) FROM projections.runs), "
    "(SELECT sum(requests) FROM projections.token_usage), "
    "(SELECT count(*) FROM projections.audit_trail)"
)


def _counted(archive: Archive, processes: int) -> tuple[object, ...]:
    """What the read models hold when followed; the same as when they are rebuilt."""
    with Store.open(archive.url) as store, store.connect() as connection:
        prepare(connection)
        while catch_up(connection):
            pass
        [followed] = archive.query(_COUNTED)
        rebuild(connection, processes=processes)
    [rebuilt] = archive.query(_COUNTED)
    assert rebuilt == followed
    return followed


@pytest.mark.slow
@pytest.mark.parametrize("processes", [1, 2])
@pytest.mark.thinned(whole=1)
@pytest.mark.wide
def test_a_log_of_several_tiles(
    archive: Archive, monkeypatch: pytest.MonkeyPatch, processes: int
) -> None:
    monkeypatch.setattr(ranges, "FEWEST_TILES", 1)
    monkeypatch.setattr(ranges, "TILES_AT_ONCE", 1)
    write_suite(archive.folder, 150)
    archive.does("start", "run.yaml", "--quiet")
    archive.does("start", "run.yaml", "--quiet")
    before, models = archive.rows(3), _counted(archive, processes)
    assert len(before) > 600
    assert "genuine" in archive.does("verify", "--incremental")

    archive.does("archive", "3", "--to", "old")
    gone = len(before) - len(archive.rows(3))
    assert f"{gone:,} events of 1 run are archived" in archive.does("verify")
    assert "genuine" in archive.does("verify", "--incremental")
    assert _counted(archive, processes) != models
    # What is kept is a small part of what left.
    [(kept,)] = archive.query("SELECT sum(pg_column_size(a)) FROM failproof.archived_events AS a")
    assert kept / gone < 170

    archive.does("attach", archive.file(3))
    assert archive.rows(3) == before
    assert "genuine" in archive.does("verify")
    assert _counted(archive, processes)[:3] == models[:3]


def test_an_archived_leaf_that_is_changed_is_found_by_several_processes(
    archive: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranges, "FEWEST_TILES", 1)
    write_suite(archive.folder, 150)
    archive.does("start", "run.yaml", "--quiet")
    archive.does("archive", "3", "--to", "old")
    with psycopg.connect(archive.admin, autocommit=True) as connection:
        connection.execute("SET event_triggers = off")
        connection.execute("ALTER TABLE failproof.archived_events DISABLE TRIGGER USER")
        connection.execute(
            "UPDATE failproof.archived_events SET leaf_hash = sha256('x') WHERE notification_id = "
            "(SELECT max(notification_id) FROM failproof.archived_events)"
        )
    said = archive.does("verify", code=1)
    assert "row missing or hidden" in said
    assert "archived events changed" in said
