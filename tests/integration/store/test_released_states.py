"""A database of each released version, upgraded: it is a fresh one, with its log in it.

Nothing was released yet: what this version makes is recorded and made again, as that of a released
version will be. Each has a server of its own, because roles and their rights belong to a server.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import psycopg
import pytest

from failproof_es.engine.replays.replay import replay
from failproof_es.store.reading.reader import read_after, resolve_run
from failproof_es.store.schema.definitions import differences
from failproof_es.store.schema.installation import WRITER, SchemaState, install, schema_state
from failproof_es.store.schema.migration import migrations
from failproof_es.store.schema.protection_layers import missing_layers
from failproof_es.store.store import Store
from tests.acceptance.commands import invoke
from tests.own_server import own_server
from tests.released.catalog import catalog
from tests.released.record import (
    CLASS,
    FOLDER,
    SQL,
    command,
    installed_statements,
    record_state,
    write_files,
)

RELEASED = sorted(FOLDER.glob("*.json"))
NOW = Path("this version.json")
STATES = [pytest.param(file, id=file.stem) for file in (*RELEASED, NOW)]


class Fresh(NamedTuple):
    """What this version makes in an empty database: the file of its state, and its catalog."""

    file: Path
    catalog: list[str]


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Fresh:
    folder = tmp_path_factory.mktemp("released")
    with own_server() as server:
        statements = installed_statements(server.url)
        with psycopg.connect(server.url, autocommit=True) as connection:
            made = catalog(connection)
        record_state(folder, NOW.stem, server.url, statements, folder / "run")
    return Fresh(folder / NOW, made)


@pytest.fixture
def state(request: pytest.FixtureRequest) -> Path:
    """The file of a state that is made anew."""
    file: Path = request.param
    if file != NOW:
        return file
    fresh: Fresh = request.getfixturevalue("fresh")
    return fresh.file


def make_as_then(url: str, file: Path, *, killed: bool = False) -> None:
    """Make the database that this version made, with its run. `killed`: as it was in the middle."""
    state = json.loads(file.read_text("utf-8"))
    if killed:
        state["tables"]["events"]["rows"] = _until_killed(state["tables"]["events"])
    with psycopg.connect(url, autocommit=True) as connection:
        with connection.transaction():
            for statement in state["statements"]:
                connection.execute((file.parent / SQL / f"{statement}.sql").read_bytes())
        # The tables that a trigger fills with the events are among those that are copied.
        connection.execute("SET session_replication_role = replica")
        for table, content in state["tables"].items():
            columns = ", ".join(content["columns"])
            copying = f"COPY failproof.{table} ({columns}) FROM STDIN".encode()
            with connection.cursor() as cursor, cursor.copy(copying) as copy:
                copy.write("".join(f"{row}\n" for row in content["rows"]).encode())
        connection.execute("RESET session_replication_role")
        connection.execute(
            "SELECT setval(pg_get_serial_sequence('failproof.events', 'notification_id'), "
            "max(notification_id)) FROM failproof.events"
        )


def _until_killed(events: dict[str, list[str]]) -> list[str]:
    """The rows that a process left which was killed with two evaluations scored, and a request in
    flight."""
    topic, position = (events["columns"].index(each) for each in ("topic", "notification_id"))
    kept: list[str] = []
    scored = 0
    for row in sorted(events["rows"], key=lambda each: int(each.split("\t")[position])):
        kept.append(row)
        said = row.split("\t")[topic]
        scored += said == "Scored"
        if scored >= 2 and said == "RequestSent":
            return kept
    raise AssertionError("nothing is left to be done")


def test_a_catalog_tells_what_was_changed(administrator: psycopg.Connection[Any]) -> None:
    before = catalog(administrator)
    assert catalog(administrator) == before
    for change in (
        "COMMENT ON TABLE failproof.events IS 'ours'",
        "GRANT SELECT ON failproof.events TO failproof_archiver",
        "ALTER TABLE failproof.events DISABLE ROW LEVEL SECURITY",
        "ALTER TABLE failproof.leases ADD CONSTRAINT own CHECK (epoch < 9)",
        "ALTER FUNCTION failproof.number_run(uuid) COST 7",
        "ALTER ROLE failproof_auditor SET search_path = public",
    ):
        with administrator.transaction(force_rollback=True):
            administrator.execute("SET LOCAL event_triggers = off")
            administrator.execute(change.encode())
            assert catalog(administrator) != before, change


@pytest.mark.slow
@pytest.mark.parametrize("state", STATES[-1:] if not RELEASED else STATES[-2:-1], indirect=True)
@pytest.mark.wide
def test_every_state_of_the_schema_that_was_released_is_tried(state: Path) -> None:
    """The newest state has every migration that ships: record one with each that is added."""
    said = json.loads(state.read_text("utf-8"))
    then = [(state.parent / SQL / f"{each}.sql").read_text("utf-8") for each in said["statements"]]
    missing = [each.name for each in migrations() if each.sql not in then]
    assert missing == [], "run `python -m tests.released.record DATE` before the release"


@pytest.mark.slow
@pytest.mark.parametrize("state", STATES, indirect=True)
def test_an_upgraded_database_is_a_fresh_one_and_goes_on(
    state: Path, fresh: Fresh, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with own_server() as server:
        make_as_then(server.url, state)
        with psycopg.connect(server.url, autocommit=True) as administrator:
            before = administrator.execute(
                "SELECT notification_id, originator_id, originator_version, topic, state, run_id, "
                "recorded_at FROM failproof.events ORDER BY 1"
            ).fetchall()
            assert install(administrator, logins=True).problems == []
            assert schema_state(administrator) is SchemaState.CURRENT
            assert catalog(administrator) == fresh.catalog
            assert differences(administrator) == []
        with Store.open(server.url_as(WRITER)) as store:
            with store.connect() as connection:
                assert missing_layers(connection) == []
                after = read_after(connection, 0, 1000)
                assert [
                    (e.position, e.stream_id, e.version, e.topic, e.state, e.run_id, e.recorded_at)
                    for e in after
                ] == before
                assert len([each.event() for each in after]) == len(before) >= 30
                [run_id] = {resolve_run(connection, "1")}
            report = replay(store, run_id)
            assert (report.evaluations, report.agree, report.differences) == (6, 6, [])
            write_files(tmp_path)
            monkeypatch.syspath_prepend(tmp_path)
            for url, *arguments in ((server.url, "db", "init"), (store.url, "start", "run.yaml")):
                done = invoke(url, *arguments, cwd=tmp_path)
                assert done.exit_code == 0, done.output
            with store.connect() as connection:
                assert resolve_run(connection, "latest") == resolve_run(connection, "2")
            verified = invoke(store.url, "verify", "--format", "json", cwd=tmp_path).stdout
            assert json.loads(verified)["genuine"], verified


@pytest.mark.slow
@pytest.mark.parametrize("state", STATES, indirect=True)
@pytest.mark.wide
def test_a_run_that_an_older_version_left_half_done_is_ended_by_workers(
    state: Path, tmp_path: Path
) -> None:
    """Its database is upgraded by the command, and two worker processes do what is left."""
    count = "SELECT count(*) FROM failproof.stored_events WHERE topic = %s"
    write_files(tmp_path)
    with own_server() as server:
        make_as_then(server.url, state, killed=True)
        command(server.url, tmp_path, "db", "init")
        with psycopg.connect(server.url, autocommit=True) as administrator:
            administrator.execute(f"ALTER ROLE {WRITER} LOGIN".encode())  # as an administrator may
        url = server.url_as(WRITER)
        with psycopg.connect(url, autocommit=True) as connection:

            def number(topic: str) -> int:
                [(found,)] = connection.execute(count, (topic,)).fetchall()
                return int(found)

            answered = number("ResponseReceived")
            assert 2 <= answered < 6
            sent = number("RequestSent")
            command(url, tmp_path, "resume", "1", "--workers", "2", "--allow-class", CLASS)
            assert [number(each) for each in ("Scored", "RunCompleted", "RunSealed")] == [6, 1, 1]
            assert number("ResponseReceived") == 6, "no recorded answer was asked for again"
            assert number("AttemptOrphaned") == sent - answered > 0
            assert number("WorkerJoined") >= 1
        verified = json.loads(command(url, tmp_path, "verify", "--format", "json"))
        assert verified["genuine"], verified
        assert "differences" in command(url, tmp_path, "replay", "1", "--format", "json")
