"""`resume RUN --retry-abandoned`: what a run abandoned is asked again, in a branch that says so."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import orjson
import psycopg
import pytest
from click.testing import Result

from failproof_es.assurance.signing.signing_key import log_key
from failproof_es.cli.progress.recorded_progress import catch_up_with
from failproof_es.cli.progress.state import ProgressState
from failproof_es.engine.drive import pending as unfinished
from failproof_es.reading.recorded_run import RecordedRun
from failproof_es.store import ledger
from failproof_es.store.embedded.server import EmbeddedServer
from failproof_es.store.reading.reader import RecordedEvent, find, resolve_run
from failproof_es.store.store import Store
from failproof_es.store.writing.journal import JournalError
from tests.acceptance.commands import asked, invoke, write_configuration, write_suite
from tests.acceptance.recording import Recording, recorded_once
from tests.acceptance.runs.test_finishing import alter

CASES = 8
ABANDONED = 3
GATES = {"max_unscored_rate": 0.0, "min_accuracy": 0.5}


def write_files(folder: Path, base_url: str, name: str) -> None:
    """A suite of which three cases get an error at their first two requests, and none after."""
    suite = write_suite(folder, CASES, prompt=f"{name} {{n}}.")
    cases = [orjson.loads(line) for line in suite.read_bytes().splitlines()]
    for case in cases[:ABANDONED]:
        case["prompt"] += " [fault:http500*2]"
    suite.write_bytes(b"\n".join(map(orjson.dumps, cases)))
    execution = {"parallel_workers": 2, "retry_attempts": 1, "retry_delay_ms": 1}
    write_configuration(folder, base_url, execution=execution, gates=GATES)


@pytest.fixture(scope="module")
def recording(
    postgres_server: EmbeddedServer,
    migrated_database: str,
    mock_url: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Recording:
    """Run 1, which abandoned three cases."""

    def record(url: str, folder: Path) -> None:
        write_files(folder, mock_url, "retrying")
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


@pytest.fixture
def new_folder(tmp_path: Path, mock_url: str, request: pytest.FixtureRequest) -> Path:
    """The same files with prompts that were not asked yet; the log of `store` is empty."""
    write_files(tmp_path, mock_url, request.node.name)
    return tmp_path


def start(database_url: str, folder: Path) -> Result:
    done = invoke(database_url, "start", "run.yaml", cwd=folder)
    assert done.exit_code == 3, done.output
    return done


def again(store: Store, folder: Path, run: int | str, *arguments: object) -> Result:
    options = ("--retry-abandoned", *arguments, "--json")
    return invoke(store.url, "resume", run, *options, cwd=folder)


def log(store: Store, run: int, *topics: str) -> list[RecordedEvent]:
    with store.connect() as connection:
        return list(find(connection, run_id=resolve_run(connection, str(run)), topics=topics))


def shown(store: Store, folder: Path, run: int) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(invoke(store.url, "show", run, "--json", cwd=folder).stdout)
    return found


def runs(store: Store) -> int:
    with store.connect() as connection:
        row = connection.execute("SELECT count(*) FROM failproof.run_list").fetchone()
    assert row is not None
    return int(row[0])


def test_only_what_was_abandoned_is_asked_again_and_the_gates_are_of_the_branch(
    store: Store, folder: Path, mock_url: str
) -> None:
    before, counted = log(store, 1), asked(mock_url)
    assert before[-1].topic == "RunSealed"
    done = again(store, folder, 1)
    assert done.exit_code == 0, done.output
    assert log(store, 1) == before, "the old run is as it was, byte for byte"
    summary = json.loads(done.stdout)
    assert summary["counts"] == {"planned": 8, "finished": 8, "scored": 8, "abandoned": 0}
    assert summary["gates"]["max_unscored_rate"]["met"] is True
    assert len(log(store, 2, "CarriedOver")) == CASES - ABANDONED
    assert len(log(store, 2, "RequestSent")) == ABANDONED
    more = {prompt: n - counted.get(prompt, 0) for prompt, n in asked(mock_url).items()}
    assert sorted(prompt for prompt, n in more.items() if n) == sorted(
        prompt for prompt in more if "http500*2" in prompt and folder_prompt(folder) in prompt
    )
    assert invoke(store.url, "replay", 2, cwd=folder).exit_code == 0
    assert invoke(store.url, "verify", cwd=folder).exit_code == 0
    require_reasons(store, folder, done)
    nothing = again(store, folder, 2)
    assert nothing.exit_code == 2 and "[nothing-to-ask]" in nothing.stderr
    assert runs(store) == 2, "where nothing was abandoned no run begins"


def require_reasons(store: Store, folder: Path, done: Result) -> None:
    """The branch says of what it is a branch, why, and which evaluations it asked again."""
    last = log(store, 1)[-1].position
    assert "3 abandoned evaluations asked again, 5 carried over" in done.stderr
    branch = shown(store, folder, 2)["branched_from"]
    asked_again = branch.pop("asked_again")
    assert branch == {
        "run_id": shown(store, folder, 1)["run_id"], "run_number": 1, "position": last,
        "says": "asks again what had no score in run 1", "again": "abandoned", "settings": {},
        "reuse": False,
    }  # fmt: skip
    assert [each["case"] for each in asked_again] == ["case-00000", "case-00001", "case-00002"]
    assert asked_again[0]["ended_as"] == "server_error"
    assert shown(store, folder, 1)["branched_from"] is None
    people = invoke(store.url, "show", 2, cwd=folder).stdout
    assert f"run 1 at position {last}, 5 evaluations carried over" in people
    assert "3 evaluations that had been abandoned (server_error 3): generated/case-0" in (people)
    trail = invoke(store.url, "audit", 2, "--format", "jsonl", cwd=folder).stdout
    resolved = json.loads(trail.splitlines()[0])["details"]
    assert resolved["path"] == f"run 1 at position {last}, its abandoned evaluations asked again"
    for form in ("md", "json"):
        file = folder / f"report.{form}"
        written = invoke(store.url, "report", 2, "--format", form, "-o", file, cwd=folder)
        assert written.exit_code == 0, written.output
        text = file.read_text()
        assert all(f"case-0000{n}" in text for n in range(ABANDONED))
        assert form == "json" or f"run 1 at position {last:,}" in text
    document = json.loads((folder / "report.json").read_text())
    run = document["asked"][0]["run"]
    assert run["counts"]["carried_over"] == 5
    asked_again = run["branched_from"]["asked_again"]
    assert [each["ended_as"] for each in asked_again] == ["server_error"] * 3


def folder_prompt(folder: Path) -> str:
    first: str = orjson.loads((folder / "suite.jsonl").read_bytes().splitlines()[0])["prompt"]
    return first.partition(" ")[0]


def test_a_run_that_failed_because_nobody_was_there_is_asked_again_somewhere_else(
    store: Store, folder: Path, mock_url: str
) -> None:
    """A key and a place of its own: nothing else is other, and all of it is on record."""
    write_suite(folder, CASES, prompt="elsewhere {n} [fault:reset]")
    assert invoke(store.url, "start", "run.yaml", "--quiet", cwd=folder).exit_code == 1
    assert shown(store, folder, 2)["status"] == "failed"
    done = invoke(
        store.url, "resume", 2, "--retry-abandoned", "--json",
        "--set", f"models.0.base_url={mock_url}/", "--set", "models[0].api_key_env=OTHER_KEY",
        "--set", "execution.timeout_per_request_ms=250", "--set", "execution.retry_attempts=0",
        cwd=folder, OTHER_KEY="another-key-of-more-than-16",
    )  # fmt: skip
    assert done.exit_code == 1, "the same server resets again"
    third = shown(store, folder, 3)
    assert third["branched_from"]["settings"] == {
        "models[0].base_url": f"{mock_url}/", "models[0].api_key_env": "OTHER_KEY",
        "execution.timeout_per_request_ms": 250, "execution.retry_attempts": 0,
    }  # fmt: skip
    assert third["models"][0]["settings"] == {
        "base_url": f"{mock_url}/", "api_key_env": "OTHER_KEY"
    }  # fmt: skip
    assert third["counts"]["requests"] == CASES, "retry_attempts is 0 now"
    started = log(store, 3, "RunStarted")[0].payload()
    assert started["configuration"]["execution"]["timeout_per_request_ms"] == 250
    assert (
        started["configuration_digest"]
        != log(store, 2, "RunStarted")[0].payload()["configuration_digest"]
    )
    people = invoke(store.url, "show", 3, cwd=folder).stdout
    assert "other settings" in people and "OTHER_KEY" in people
    assert not any(b"another-key-of-more-than-16" in row.state for row in log(store, 3))
    assert invoke(store.url, "replay", 3, cwd=folder).exit_code == 0


@pytest.mark.parametrize(
    "setting",
    [
        "models.0.temperature=1", "nonsense",
        "models.0.base_url=http://user:secret-password@127.0.0.1/v1",
    ],
)  # fmt: skip
def test_what_changes_what_is_asked_or_is_no_connection_is_refused_before_anything_is_sent(
    store: Store, folder: Path, mock_url: str, setting: str
) -> None:
    counted = asked(mock_url)
    done = again(store, folder, 1, "--set", setting)
    assert done.exit_code == 2, done.output
    assert "Traceback" not in done.output and "secret-password" not in done.output
    refused = "[not-changeable]" in done.stderr
    said = re.search(r"may be set: base_url, api_key_env, .* of .*workers", done.stderr)
    assert not refused or said
    assert asked(mock_url) == counted and runs(store) == 1


def last_progress(done: Result) -> dict[str, Any]:
    *_, last = (line for line in done.stderr.splitlines() if line.startswith('{"event"'))
    details: dict[str, Any] = json.loads(last)["details"]
    return details


def require_alike_live(store: Store, folder: Path, branches: dict[int, Result]) -> None:
    """What was shown live of a branch is what is shown of it after.

    What it carried over has passed, failed and been abandoned like the rest.
    """
    for run, done in branches.items():
        live, after = last_progress(done), shown(store, folder, run)["counts"]
        own = live["models"][0]
        shared = after.keys() & own.keys()
        assert {name: own[name] for name in shared} == {name: after[name] for name in shared}
        assert shared >= {"finished", "passed", "failed", "abandoned", "lost", "retries"}
        assert after["carried_over"] == (CASES if run == 2 else CASES - ABANDONED)
        assert after["finished"] == CASES and live["abandoned"] == (ABANDONED if run == 2 else 0)
        state = ProgressState()
        with store.connect() as connection:
            run_id = resolve_run(connection, str(run))
            catch_up_with(state, connection, run_id)
            summary = RecordedRun.read(connection, run_id).summary
        assert state.total.group == summary.total


def test_settings_are_of_a_branch_alone_and_what_it_carried_over_abandoned_is_asked_again(
    store: Store, folder: Path
) -> None:
    setting = ("--set", "execution.retry_attempts=5")
    done = invoke(store.url, "resume", 1, *setting, cwd=folder)
    assert done.exit_code == 2 and "its configuration is on record" in done.stderr
    position = log(store, 1)[-1].position
    done = invoke(store.url, "resume", 1, "--at", position, *setting, "--json", cwd=folder)
    assert done.exit_code == 3, "it carried over everything, the abandoned ones included"
    assert log(store, 2, "RequestSent") == []
    assert invoke(store.url, "replay", 2, cwd=folder).exit_code == 0, "under the old bound"
    third = again(store, folder, 2)
    assert third.exit_code == 0
    assert len(log(store, 3, "RequestSent")) == ABANDONED
    again_in = shown(store, folder, 3)["branched_from"]["asked_again"]
    assert [each["ended_as"] for each in again_in] == ["server_error"] * ABANDONED
    require_alike_live(store, folder, {2: done, 3: third})


def test_what_a_killed_branch_was_to_ask_again_its_own_branch_asks_again(
    store: Store, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:

    def killed(*arguments: Any) -> None:
        raise JournalError("killed")

    with monkeypatch.context() as patched:
        patched.setattr(unfinished, "carry_over", killed)
        assert again(store, folder, 1).exit_code == 1
    position = log(store, 2)[-1].position
    done = invoke(store.url, "resume", 2, "--at", position, "--quiet", cwd=folder)
    assert done.exit_code == 0, done.output
    assert len(log(store, 3, "CarriedOver")) == CASES - ABANDONED
    assert len(log(store, 3, "RequestSent")) == ABANDONED


def test_its_evidence_proves_what_it_asked_again_and_what_it_carried_over(
    store: Store, new_folder: Path
) -> None:
    """Also where the retries are other than those under which the rest was decided."""
    suite = new_folder / "suite.jsonl"
    cases = [orjson.loads(line) for line in suite.read_bytes().splitlines()]
    cases[-1]["prompt"] += " [fault:http500*1]"
    suite.write_bytes(b"\n".join(map(orjson.dumps, cases)))
    ended = start(store.url, new_folder)
    assert (
        "3 evaluations were abandoned, 3 of them without a usable answer: "
        "`failproof-es resume 1 --retry-abandoned`" in ended.stderr
    )
    done = again(store, new_folder, 1, "--set", "execution.retry_attempts=0")
    assert done.exit_code == 0, done.output
    assert invoke(store.url, "replay", 2, cwd=new_folder).exit_code == 0
    done = invoke(store.url, "evidence", "export", 2, "-o", "run.evidence", cwd=new_folder)
    assert done.exit_code == 0, done.output
    with store.connect() as connection:
        key = str(log_key(ledger.origin(connection)).public)
    done = invoke(
        store.url, "evidence", "verify", "run.evidence", "--key", key, "--replay", cwd=new_folder
    )
    assert f"replayed: {CASES} evaluations agree, 0 differ" in done.output, done.output


def test_a_run_without_an_end_is_branched_too_and_what_it_had_not_asked_is_asked(
    store: Store, folder: Path
) -> None:
    first = log(store, 1, "EvaluationAbandoned")[0].position
    done = again(store, folder, 1, "--at", first)
    assert done.exit_code == 0, done.output
    scored = [row for row in log(store, 1, "Scored") if row.position <= first]
    assert len(log(store, 2, "CarriedOver")) == len(scored)
    assert len({row.stream_id for row in log(store, 2, "RequestSent")}) == CASES - len(scored)


def test_recorded_repetitions_that_are_not_those_of_the_plan_are_told_as_what_they_are(
    store: Store, folder: Path, administrator: psycopg.Connection[object]
) -> None:
    position = log(store, 1)[-1].position
    for repetitions, *options in (
        (0, "--at", position), (7, "--retry-abandoned"), (10**15, "--at", position),
    ):  # fmt: skip
        recorded_as(store, administrator, repetitions=repetitions)
        done = invoke(store.url, "resume", 1, *options, "--quiet", cwd=folder)
        assert done.exit_code == 1, done.output
        assert f"execution.repetitions: {repetitions} of each are not the 8" in done.stderr
        assert "install" not in done.stderr and "`failproof-es verify`" in done.stderr
    assert runs(store) == 1


def test_a_recorded_value_that_cannot_be_driven_is_named_with_what_it_may_be(
    store: Store, folder: Path, administrator: psycopg.Connection[object]
) -> None:
    recorded_as(store, administrator, parallel_workers=0)
    done = again(store, folder, 1)
    assert done.exit_code == 2, done.output
    assert "execution.parallel_workers: Input should be greater than" in done.stderr
    assert "start a new run" in done.stderr and "install" not in done.stderr


def recorded_as(
    store: Store, administrator: psycopg.Connection[object], **execution: object
) -> None:
    """Change what run 1 recorded of its execution."""
    (row,) = log(store, 1, "RunStarted")
    written = row.payload()["configuration"]
    changed = {**written, "execution": {**written["execution"], **execution}}
    alter(administrator, row, configuration=changed)
