"""`resume RUN --at POSITION`: a new run from any point of another one (specification 001 § 9)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson
import psycopg
import pytest
from click.testing import Result

import projections.batch as batching
from failproof_es.assurance.signing.signing_key import log_key
from failproof_es.engine.drive import pending as unfinished
from failproof_es.engine.driver import Driver
from failproof_es.engine.related_runs.carried_over import carry_over
from failproof_es.events import CarriedOver
from failproof_es.store import ledger
from failproof_es.store.embedded.server import EmbeddedServer
from failproof_es.store.reading.reader import RecordedEvent, find, resolve_run
from failproof_es.store.store import Store
from failproof_es.store.writing.journal import JournalError
from projections.runner import catch_up, prepare, rebuild
from tests.acceptance.commands import (
    asked,
    begin,
    invoke,
    kill_group,
    mock_server,
    write_configuration,
    write_suite,
)
from tests.acceptance.recording import Recording, recorded_once
from tests.integration.projections.world import rows as projected_rows

CASES = 12
FINAL = ("Scored", "EvaluationAbandoned")
CHECKED = ["ConfigurationResolved", "ValidationStarted", "ValidationPassed", "RunStarted"]


def write_files(folder: Path, base_url: str) -> None:
    """A suite that no other test asks, one case of which gets an error and one a retry."""
    suite = write_suite(folder, CASES, prompt="Branching {n}.")
    cases = [orjson.loads(line) for line in suite.read_bytes().splitlines()]
    cases[1]["prompt"] += " [fault:http500*1]"
    cases[2]["prompt"] += " [fault:http400]"
    suite.write_bytes(b"\n".join(map(orjson.dumps, cases)))
    write_configuration(
        folder,
        base_url,
        execution={"parallel_workers": 2, "retry_attempts": 1, "retry_delay_ms": 1},
        output={
            "file": {"enabled": True, "path": "out/{timestamp}_x.jsonl", "checkpoint_every": 4}
        },
    )


@pytest.fixture(scope="module")
def recording(
    postgres_server: EmbeddedServer,
    migrated_database: str,
    mock_url: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Recording:
    """Run 1, which all branches are of."""

    def record(url: str, folder: Path) -> None:
        write_files(folder, mock_url)
        start(url, folder)

    return recorded_once(postgres_server, migrated_database, tmp_path_factory, record)


@pytest.fixture
def template(request: pytest.FixtureRequest, migrated_database: str) -> str:
    if "folder" not in request.fixturenames:
        return migrated_database
    recording: Recording = request.getfixturevalue("recording")
    return recording.database


@pytest.fixture
def folder(recording: Recording, home: Path, tmp_path: Path) -> Path:
    """The files of run 1; `store` is on a copy of its log."""
    recording.copy_files(home, tmp_path)
    return tmp_path


def start(database_url: str, folder: Path) -> None:
    done = invoke(database_url, "start", "run.yaml", "--quiet", cwd=folder)
    assert done.exit_code == 0, done.output


def branch(store: Store, folder: Path, run: int | str, position: int) -> Result:
    return invoke(store.url, "resume", run, "--at", position, "--quiet", "--json", cwd=folder)


def log(store: Store, run: int, *topics: str) -> list[RecordedEvent]:
    with store.connect() as connection:
        return list(find(connection, run_id=resolve_run(connection, str(run)), topics=topics))


def results(store: Store, folder: Path, run: int) -> list[dict[str, Any]]:
    shown = invoke(store.url, "results", run, "--format", "jsonl", cwd=folder)
    return [json.loads(line) for line in shown.stdout.splitlines()]


def trail(store: Store, folder: Path, run: int | str) -> list[dict[str, Any]]:
    shown = invoke(store.url, "audit", run, "--format", "jsonl", cwd=folder)
    assert shown.exit_code == 0, shown.output
    return [json.loads(line) for line in shown.stdout.splitlines()]


def middle(store: Store, run: int) -> int:
    """A position at which this run had finished 5 evaluations, and begun others."""
    return log(store, run, *FINAL)[4].position


def without_ids(found: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{k: v for k, v in row.items() if k not in ("run_id", "result_id")} for row in found]


def test_what_was_finished_is_carried_over_and_the_rest_is_asked_anew(
    store: Store, folder: Path, mock_url: str, recording: Recording
) -> None:
    before, counted, position = log(store, 1), asked(mock_url), middle(store, 1)
    finished = {row.stream_id for row in log(store, 1, *FINAL) if row.position <= position}
    done = branch(store, folder, 1, position)
    assert done.exit_code == 0, done.output
    assert log(store, 1) == before, "the old run is as it was, byte for byte"
    summary = json.loads(done.stdout)
    assert (summary["run_number"], summary["status"]) == (2, "completed")
    assert summary["counts"] == {"planned": CASES, "finished": CASES, "scored": 11, "abandoned": 1}
    references = [row.event() for row in log(store, 2, "CarriedOver")]
    assert {each.source_evaluation_id for each in references if isinstance(each, CarriedOver)} == (
        finished
    )
    begun = {row.stream_id for row in log(store, 2, "RequestSent")}
    assert len(begun) == CASES - 5
    again = sum(asked(mock_url).values()) - sum(counted.values())
    assert again == len(log(store, 2, "RequestSent"))
    assert invoke(store.url, "replay", 2, cwd=folder).exit_code == 0
    assert invoke(store.url, "verify", cwd=folder).exit_code == 0
    require_whole_results(store, folder, recording)
    require_shown(store, folder, position)
    require_checked(store, folder, position)


def require_whole_results(store: Store, folder: Path, recording: Recording) -> None:
    """The branch has all results, in the order of run 1 and under its own name."""
    old, new = (results(store, folder, run) for run in (1, 2))
    assert [row["case_id"] for row in new] == [row["case_id"] for row in old]
    assert len({row["run_id"] for row in new}) == 1
    assert new[0]["run_id"] != old[0]["run_id"]
    carried = [
        row for row, other in zip(without_ids(new), without_ids(old), strict=True) if row == other
    ]
    assert len(carried) == 5
    parts = {"checkpoint": 0, "whole": 0}
    for file in (recording.folder / "out").iterdir():
        header, *lines = map(json.loads, file.read_bytes().splitlines())
        if header["metadata"]["run_id"] == new[0]["run_id"]:  # other tests branch beside it, too
            assert all(line in new for line in lines)
            parts["checkpoint" if "checkpoint" in header else "whole"] += len(lines)
    assert parts == {"checkpoint": CASES, "whole": CASES}


def require_shown(store: Store, folder: Path, position: int) -> None:
    """`show` says where it was branched, and counts no request twice."""
    first, second = (
        json.loads(invoke(store.url, "show", n, "--json", cwd=folder).stdout) for n in (1, 2)
    )
    nothing_else: dict[str, Any] = {"again": None, "settings": {}, "reuse": False}
    recorded = {"run_id": first["run_id"], "position": position, **nothing_else}
    assert second["branched_from"] == {
        **recorded, "says": "branched from run 1", "run_number": 1, "asked_again": [],
    }  # fmt: skip
    assert first["branched_from"] is None
    counts, before = second["counts"], first["counts"]
    asked = (
        "requests",
        "answers",
        "retries",
        "failed_requests",
        "orphaned_requests",
        "carried_over",
    )
    assert {n: v for n, v in counts.items() if n not in asked} == {
        name: value for name, value in before.items() if name not in asked
    }
    assert counts["carried_over"] == 5
    assert second["classes"] == first["classes"]
    assert second["accuracy"] == first["accuracy"]
    assert counts["requests"] == len(log(store, 2, "RequestSent")) < before["requests"]
    table = invoke(store.url, "show", 2, cwd=folder).stdout
    assert f"run 1 at position {position}, 5 evaluations carried over" in table
    trail = invoke(store.url, "audit", 2, "--json", cwd=folder).stdout.splitlines()
    started = next(each for each in map(json.loads, trail) if each["event"] == "RunStarted")
    assert started["details"]["branched_from"] == recorded


def require_checked(store: Store, folder: Path, position: int) -> None:
    """It was checked like a run that is started, and its audit trail says so."""
    old, new = (trail(store, folder, run) for run in (1, 2))
    assert [each["event"] for each in new][:4] == [each["event"] for each in old][:4] == CHECKED
    resolved, _, passed, _ = (each["details"] for each in new[:4])
    assert resolved["path"] == f"run 1 at position {position}"
    assert resolved["configuration_digest"] == old[0]["details"]["configuration_digest"]
    left = CASES - 5
    assert passed["estimate"]["cases"] == passed["estimate"]["evaluations"] == left
    assert passed["estimate"]["requests"] == passed["estimate"]["models"][0]["requests"] == left


def test_projections_follow_the_reference_unless_what_was_carried_over_was_changed_since(
    store: Store,
    folder: Path,
    administrator: psycopg.Connection[Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Rebuilding gives the same rows."""
    assert branch(store, folder, 1, middle(store, 1)).exit_code == 0
    with store.connect() as connection:
        prepare(connection)
        while catch_up(connection):
            pass
        followed = projected_rows(connection)
        monkeypatch.setattr(batching, "BATCH_EVENTS", 7)
        rebuild(connection)
        assert projected_rows(connection) == followed
        told = connection.execute(
            "SELECT run_number, count(*), count(scores), count(answer), sum(accuracy) "
            "FROM projections.run_results JOIN projections.runs USING (run_id) "
            "GROUP BY run_number ORDER BY run_number"
        ).fetchall()
        stands = connection.execute(
            "SELECT run_number, scored, abandoned, passed, requests, accuracy_sum "
            "FROM projections.progress JOIN projections.runs USING (run_id) ORDER BY run_number"
        ).fetchall()
        used = connection.execute(
            "SELECT run_number, requests FROM projections.cost JOIN projections.runs "
            "USING (run_id) WHERE requests > 0 ORDER BY run_number"
        ).fetchall()
    assert told[0][1:] == told[1][1:] == (CASES, 11, 11, 11.0)
    sent = [len(log(store, n, "RequestSent")) for n in (1, 2)]
    assert [row[1:] for row in stands] == [(11, 1, 11, n, 11) for n in sent]
    answers = [len(log(store, n, "ResponseReceived")) for n in (1, 2)]
    assert used == [(1, answers[0]), (2, answers[1])]
    assert answers[1] < answers[0]

    source = log(store, 2, "CarriedOver")[0].payload()["source_evaluation_id"]
    administrator.execute("SET event_triggers = off")
    for trigger in ("statements_change_nothing", "rows_never_change"):
        administrator.execute(f"ALTER TABLE failproof.events DISABLE TRIGGER {trigger}".encode())
    administrator.execute(
        "UPDATE failproof.events SET state = state || ' '::bytea "
        "WHERE originator_id = %s AND topic = 'Scored'",
        (source,),
    )
    assert invoke(store.url, "projections", "rebuild", cwd=folder).exit_code == 0
    done = invoke(store.url, "results", 2, cwd=folder)
    assert done.exit_code == 1
    assert f"what it carries over is not what stream {source} holds" in done.stderr


def test_a_branch_that_was_killed_before_it_carried_anything_over_is_resumed(
    store: Store, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:

    async def die(self: Driver, *, resumed: bool) -> None:
        raise RuntimeError("killed")

    with monkeypatch.context() as patched:
        patched.setattr(Driver, "drive", die)
        assert branch(store, folder, 1, middle(store, 1)).exit_code == 1
    assert invoke(store.url, "resume", 2, "--quiet", cwd=folder).exit_code == 0
    assert len(log(store, 2, "CarriedOver")) == 5
    assert len(results(store, folder, 2)) == CASES


@pytest.mark.slow
def test_a_branch_of_a_killed_branch_asks_nothing_again_that_was_answered_before(
    store: Store, folder: Path, mock_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed when it had carried over a part of it."""
    everything = log(store, 1)[-1].position
    before = asked(mock_url)
    carried: list[int] = []

    def killed(*arguments: Any) -> list[CarriedOver]:
        if carried:
            raise JournalError("killed")
        carried.append(1)
        return carry_over(*arguments)

    with monkeypatch.context() as patched:
        patched.setattr(unfinished, "WINDOW", 5)
        patched.setattr(unfinished, "carry_over", killed)
        assert branch(store, folder, 1, everything).exit_code == 1
    assert len(log(store, 2, "CarriedOver")) == 5
    assert log(store, 2, "RunPaused") == [], "it says nothing, like one that was killed"
    done = branch(store, folder, 2, log(store, 2)[-1].position)
    assert done.exit_code == 0, done.output
    assert asked(mock_url) == before
    references = [row.event() for row in log(store, 3, "CarriedOver")]
    first = log(store, 1)[0].stream_id
    assert [e.source_run_id for e in references if isinstance(e, CarriedOver)] == [first] * CASES
    passed = trail(store, folder, 3)[2]["details"]
    assert passed["estimate"]["requests"] == 0, "the estimate knows it, too"
    assert without_ids(results(store, folder, 3)) == without_ids(results(store, folder, 1))
    assert invoke(store.url, "replay", 3, cwd=folder).exit_code == 0
    assert invoke(store.url, "evidence", "export", 3, "-o", "b", cwd=folder).exit_code == 0


@pytest.mark.slow
def test_a_branch_of_a_killed_branch_carries_over_what_either_had_answered_by_then(
    store: Store, folder: Path, mock_url: str
) -> None:
    """The first had answered 5, the killed one some more and had begun others."""
    process = begin(
        store.url, "resume", "1", "--at", str(middle(store, 1)), "--quiet", cwd=folder,
        FAILPROOF_ES_HOME=os.environ["FAILPROOF_ES_HOME"],
    )  # fmt: skip
    deadline = time.monotonic() + 30
    while (runs := len(runs_of(store))) < 2 or not log(store, 2, "Scored"):
        assert time.monotonic() < deadline, runs
        time.sleep(0.005)
    kill_group(process)
    killed_at = log(store, 2)[-1].position
    here = {row.payload()["prompt_id"] for row in log(store, 2, *FINAL)}
    before = asked(mock_url)
    assert branch(store, folder, 2, killed_at).exit_code == 0
    assert len(log(store, 3, "CarriedOver")) == 5 + len(here)
    requests = len(log(store, 3, "RequestSent"))
    assert sum(asked(mock_url).values()) - sum(before.values()) == requests
    assert len({row.stream_id for row in log(store, 3, "RequestSent")}) == CASES - 5 - len(here)


def runs_of(store: Store) -> list[RecordedEvent]:
    with store.connect() as connection:
        return list(find(connection, topics=["RunStarted"]))


def require_proof(store: Store, folder: Path) -> None:
    """The evidence of the branch proves what it carried over, too."""
    done = invoke(store.url, "evidence", "export", 2, "-o", "run.evidence", cwd=folder)
    assert done.exit_code == 0, done.output
    with store.connect() as connection:
        key = str(log_key(ledger.origin(connection)).public)
    done = invoke(
        store.url, "evidence", "verify", "run.evidence", "--key", key, "--replay", cwd=folder
    )
    assert f"replayed: {CASES} evaluations agree, 0 differ" in done.output
    assert invoke(store.url, "verify", 2, "--key", key, cwd=folder).exit_code == 0
    (folder / "log.pub").write_text(key)
    second = Path(__file__).parents[3] / "docs" / "reference" / "verify_evidence.py"
    command = [sys.executable, "-I", str(second), "run.evidence", "--key", "log.pub"]
    assert subprocess.run(command, cwd=folder, check=False, timeout=60).returncode == 0


def test_a_branch_of_a_branch_refers_to_where_it_happened(store: Store, folder: Path) -> None:
    assert branch(store, folder, 1, middle(store, 1)).exit_code == 0
    require_proof(store, folder)
    assert branch(store, folder, 2, log(store, 2)[-1].position).exit_code == 0
    references = [row.event() for row in log(store, 3, "CarriedOver")]
    assert len(references) == CASES
    assert log(store, 3, "RequestSent") == []
    first, second = (log(store, n)[0].stream_id for n in (1, 2))
    sources = [each.source_run_id for each in references if isinstance(each, CarriedOver)]
    assert (sources.count(first), sources.count(second)) == (5, CASES - 5)
    new, old = results(store, folder, 3), results(store, folder, 2)
    assert without_ids(new) == without_ids(old)


def test_what_stands_against_it_is_found_before_anything_is_sent_and_is_on_record(
    store: Store, tmp_path: Path
) -> None:
    with mock_server(latency_ms=0) as url:
        write_files(tmp_path, url)
        start(store.url, tmp_path)
        before = log(store, 1)
    done = branch(store, tmp_path, 1, middle(store, 1))
    assert done.exit_code == 2 and "[server-unreachable]" in done.stderr
    refused = trail(store, tmp_path, done.stderr.partition("failproof-es audit ")[2].split("`")[0])
    assert [each["event"] for each in refused] == [*CHECKED[:2], "ValidationFailed"]
    assert "cannot be reached" in refused[-1]["details"]["problems"][0]
    assert log(store, 1) == before


def test_a_position_outside_of_the_run_is_an_error_that_names_where_it_stands(
    store: Store, folder: Path
) -> None:
    first, *_, last = log(store, 1)
    for position, said in ((1, "position 1 lies before run 1"), (10**9, "lies beyond run 1")):
        done = branch(store, folder, 1, position)
        assert done.exit_code == 2 and said in done.stderr
        assert f"is at positions {first.position} to {last.position}" in done.stderr
    with store.connect() as connection:
        assert connection.execute("SELECT count(*) FROM failproof.run_list").fetchone() == (1,)
