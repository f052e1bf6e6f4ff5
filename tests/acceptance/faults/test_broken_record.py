"""A record that cannot be true: every command that reads it says what and where, and exits 1."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from uuid import UUID

import orjson
import psycopg
import pytest

from failproof_es.core.case import operations_id
from failproof_es.engine.finish.final_pass import validate_run
from failproof_es.events import (
    CarriedOver,
    Event,
    Finding,
    RunCompleted,
    RunResumed,
    RunStarted,
    Scored,
    ValidationPassed,
)
from failproof_es.store.embedded.server import EmbeddedServer
from failproof_es.store.mapper import encode
from failproof_es.store.reading.reader import find, resolve_run
from failproof_es.store.store import Store
from tests.acceptance.attacks.deadline import within_seconds
from tests.acceptance.commands import invoke
from tests.acceptance.recording import Recording, recorded_once
from tests.acceptance.runs.test_finishing import alter
from tests.acceptance.runs.test_gates import CASES, configured, model, start
from tests.selection import slow_except


@pytest.fixture(scope="module")
def recording(
    postgres_server: EmbeddedServer,
    migrated_database: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Recording:
    """A run that has ended, one of its evaluations without a score."""

    def record(url: str, folder: Path) -> None:
        configured(folder, model("m", breaks_at=[3]))
        done = invoke(url, "start", "run.yaml", "--quiet", cwd=folder)
        assert done.exit_code == 0, done.output

    return recorded_once(postgres_server, migrated_database, tmp_path_factory, record)


@pytest.fixture
def template(recording: Recording) -> str:
    return recording.database


@pytest.fixture
def run_id(recording: Recording, store: Store, home: Path, tmp_path: Path) -> UUID:
    """The run, in a log of the test's own."""
    recording.copy_files(home, tmp_path)
    with store.connect() as connection:
        return resolve_run(connection, "1")


def recorded(store: Store, topic: str, run: str = "1") -> list[Event]:
    with store.connect() as connection:
        rows = find(connection, run_id=resolve_run(connection, run), topics=[topic])
        return [row.event() for row in rows]


def after(event: Event, **changes: object) -> Event:
    """The same once more, behind itself."""
    return event.model_copy(update={"originator_version": event.originator_version + 1, **changes})


def findings(store: Store, run_id: UUID) -> list[Finding]:
    with store.connect() as connection:
        found = validate_run(connection, run_id)
    assert found["passed"] is not any(each.integrity for each in found["findings"])
    return [each for each in found["findings"] if each.integrity]


def test_a_run_as_the_engine_records_it_has_no_finding(store: Store, run_id: UUID) -> None:
    assert findings(store, run_id) == []


def test_an_event_after_the_end_is_told_by_show_replay_results_and_a_branch(
    store: Store, run_id: UUID, tmp_path: Path
) -> None:
    scored = recorded(store, "Scored")[0]
    assert isinstance(scored, Scored)
    forged = after(scored, scores={"accuracy": 0.0})
    store.log.events.put([forged])

    (found,) = (each for each in findings(store, run_id) if each.kind == "impossible_history")
    assert found.evaluation_id == scored.originator_id
    place = f"Scored cannot be event {forged.originator_version}: "
    assert place in found.message and "final event already" in found.message

    for command in ("show", "replay", "results"):
        done = invoke(store.url, command, 1, cwd=tmp_path)
        assert done.exit_code == 1, (command, done.output)
        assert "Scored" in done.output and "Traceback" not in done.output, command
    replayed = orjson.loads(invoke(store.url, "replay", 1, "--json", cwd=tmp_path).stdout)
    (difference,) = replayed["differences"]
    assert replayed["agree"] == CASES - 1, "the others are compared all the same"
    assert place in difference["disagreements"][0]["derived"]["impossible"]

    for arguments in (("resume", 1, "--retry-abandoned"), ("resume", 2)):
        done = invoke(store.url, *arguments, "--quiet", cwd=tmp_path)
        assert done.exit_code == 1 and place in done.stderr, done.output


def test_what_follows_a_reference_to_another_run_is_found(
    store: Store, run_id: UUID, tmp_path: Path
) -> None:
    invoke(store.url, "resume", 1, "--retry-abandoned", "--quiet", cwd=tmp_path)
    reference = recorded(store, "CarriedOver", "2")[0]
    assert isinstance(reference, CarriedOver)
    store.log.events.put([after(reference)])
    with store.connect() as connection:
        second = resolve_run(connection, "2")
    kinds = {each.kind for each in findings(store, second)}
    assert "impossible_history" in kinds


def test_a_second_start_and_an_event_after_the_seal_are_told(
    store: Store, run_id: UUID, tmp_path: Path
) -> None:
    (sealed,) = recorded(store, "RunSealed")
    (started,) = recorded(store, "RunStarted")
    assert isinstance(started, RunStarted)
    own = {"originator_version": sealed.originator_version + 1}
    store.log.events.put([started.model_copy(update=own)])
    (found,) = findings(store, run_id)
    assert found.kind == "impossible_history" and "RunStarted cannot be event" in found.message
    for command in ("show", "replay", "resume", "results"):
        done = invoke(store.url, command, 1, cwd=tmp_path)
        assert done.exit_code == 1 and "is sealed" in done.stderr, (command, done.output)


def test_what_is_beside_the_run_is_checked_with_it(store: Store, run_id: UUID) -> None:
    stream = operations_id(run_id)
    with store.connect() as connection:
        rows = list(find(connection, stream_id=stream))
    (passed,) = (row.event() for row in rows if row.topic == "ValidationPassed")
    assert isinstance(passed, ValidationPassed)
    store.log.events.put([passed.model_copy(update={"originator_version": len(rows) + 1})])
    (found,) = findings(store, run_id)
    assert found.kind == "impossible_history" and "no check has begun" in found.message


def test_what_cannot_be_read_is_a_finding_and_no_breakdown(
    store: Store, run_id: UUID, tmp_path: Path, administrator: psycopg.Connection[object]
) -> None:
    scored = recorded(store, "Scored")[0]
    administrator.execute("SET event_triggers = off")
    administrator.execute("ALTER TABLE failproof.events DISABLE TRIGGER ALL")
    administrator.execute(
        "UPDATE failproof.events SET state = '{}' "
        "WHERE originator_id = %s AND originator_version = %s",
        (scored.originator_id, scored.originator_version),
    )
    kinds = {each.kind for each in findings(store, run_id)}
    assert "unreadable" in kinds
    # Rows that stand were made of what was there: `verify` checks, and so does making them anew.
    assert invoke(store.url, "projections", "rebuild", cwd=tmp_path).exit_code == 0
    for command in ("show", "replay", "results"):
        done = invoke(store.url, command, 1, cwd=tmp_path)
        assert done.exit_code == 1 and "Traceback" not in done.output, (command, done.output)


def test_a_stream_of_another_kind_under_the_run_is_found(store: Store, run_id: UUID) -> None:
    scored = recorded(store, "Scored")[0]
    resumed = RunResumed(
        originator_id=scored.originator_id, originator_version=scored.originator_version + 1,
        run_id=run_id, timestamp=scored.timestamp, who="w", where="h", code_version="1",
        packages={},
    )  # fmt: skip
    store.log.events.put([resumed])
    assert "RunResumed does not belong" in findings(store, run_id)[0].message


def test_a_second_event_in_the_stream_of_a_prompt_is_found(
    store: Store, run_id: UUID, tmp_path: Path
) -> None:
    with store.connect() as connection:
        stored = next(iter(find(connection, topics=["PromptStored"]))).event()
    store.log.events.put([after(stored)])
    (found,) = (each for each in findings(store, run_id) if each.kind == "impossible_history")
    assert "PromptStored cannot be event 2: " in found.message
    for command in ("show", "replay", "results"):
        done = invoke(store.url, command, 1, cwd=tmp_path)
        assert done.exit_code == 1 and "holds its case alone" in done.stderr, done.output


def test_an_event_of_a_prompt_that_is_nowhere_does_not_end_the_audit(
    store: Store, run_id: UUID, tmp_path: Path
) -> None:
    (sealed,) = recorded(store, "RunSealed")
    lost = recorded(store, "EvaluationAbandoned")[0]
    nowhere = UUID(int=5)
    own = {"originator_id": run_id, "originator_version": sealed.originator_version + 1}
    store.log.events.put([lost.model_copy(update=own | {"prompt_id": nowhere})])
    assert "cannot be event" in findings(store, run_id)[0].message
    done = invoke(store.url, "audit", 1, cwd=tmp_path)
    assert done.exit_code == 0 and "Error" not in done.stderr, done.output
    assert str(nowhere)[-12:] in done.stdout.replace("\n", "")


def test_a_branch_whose_source_went_on_since_is_told_in_a_sentence(
    store: Store, run_id: UUID, tmp_path: Path
) -> None:
    branched = invoke(store.url, "resume", 1, "--retry-abandoned", "--quiet", cwd=tmp_path)
    assert branched.exit_code == 0, branched.output
    lost = recorded(store, "EvaluationAbandoned", "1")[0]
    sent = next(
        each for each in recorded(store, "RequestSent") if each.originator_id == lost.originator_id
    )
    store.log.events.put(
        [sent.model_copy(update={"originator_version": lost.originator_version + 1})]
    )
    done = invoke(store.url, "show", 2, cwd=tmp_path)
    assert done.exit_code == 1, done.output
    assert "RequestSent cannot be event" in done.stderr and "Assertion" not in done.stderr


def test_a_gate_that_nobody_could_have_judged_is_found_and_told(
    store: Store, run_id: UUID, tmp_path: Path, administrator: psycopg.Connection[object]
) -> None:
    (completed,) = recorded(store, "RunCompleted")
    assert isinstance(completed, RunCompleted)
    state = encode(completed.model_copy(update={"gates": {"g": {"met": True, "of": "x"}}}))
    administrator.execute("SET event_triggers = off")
    administrator.execute("ALTER TABLE failproof.events DISABLE TRIGGER ALL")
    administrator.execute(
        "UPDATE failproof.events SET state = %s "
        "WHERE originator_id = %s AND originator_version = %s",
        (state, run_id, completed.originator_version),
    )
    found = findings(store, run_id)[0]
    assert "RunCompleted cannot be event" in found.message and "gate g" in found.message
    # Rows that stand were made of what was there: `verify` checks, and so does making them anew.
    assert invoke(store.url, "projections", "rebuild", cwd=tmp_path).exit_code == 0
    for command in ("show", "results", "resume", "report"):
        done = invoke(store.url, command, 1, cwd=tmp_path)
        assert done.exit_code == 1 and "gate g" in done.stderr, (command, done.output)


@pytest.mark.parametrize("repetitions", [0, 10**15])
def test_a_configuration_whose_plan_has_no_end_is_told_in_a_sentence(
    store: Store,
    run_id: UUID,
    tmp_path: Path,
    administrator: psycopg.Connection[object],
    repetitions: int,
) -> None:
    """Whoever reads the run goes through its plan: each command ends, and that of others too."""
    with store.connect() as connection:
        [row] = find(connection, run_id=run_id, topics=[RunStarted.__name__])
    written = row.payload()["configuration"]
    execution = {**written["execution"], "repetitions": repetitions}
    alter(administrator, row, configuration={**written, "execution": execution})
    for command in (("replay", "1"), ("diff", "1", "1")):
        with within_seconds(60):
            done = invoke(store.url, *command, cwd=tmp_path)
        assert done.exit_code == 1, done.output
        assert f"execution.repetitions: {repetitions} of each are not the 20" in done.stderr
    for other in (("runs",), ("validate", "run.yaml")):
        with within_seconds(60):
            done = invoke(store.url, *other, cwd=tmp_path)
        assert done.exit_code == 0, done.output


PLANS: dict[str, tuple[Callable[[list[str]], dict[str, object]], str]] = {
    "another chunk": (lambda digests: {"chunk": 7}, "its chunk is 7, not 0"),
    "more cases": (lambda digests: {"digests": digests * 2}, "it plans more than the 20 cases"),
    "no digest": (
        lambda digests: {"digests": ["none", *digests[1:]]},
        "'none', which is no digest",
    ),
    "no plan": (lambda digests: {"digests": None}, "CasesPlanned"),
}


_AT_ONCE = ("a second start", "no plan")


@pytest.mark.parametrize("damage", slow_except(_AT_ONCE, ("a second start", *PLANS)))
@pytest.mark.thinned(whole=2)
def test_runs_lists_every_other_run_and_tells_what_is_wrong_with_one(
    store: Store,
    run_id: UUID,
    tmp_path: Path,
    administrator: psycopg.Connection[object],
    damage: str,
) -> None:
    for _ in range(2):
        assert start(store, tmp_path).exit_code == 0
    with store.connect() as connection:
        second = resolve_run(connection, "2")
        [plan] = find(connection, run_id=second, topics=["CasesPlanned"])
    said = "the run is sealed"
    if damage in PLANS:
        change, said = PLANS[damage]
        alter(administrator, plan, **change(plan.payload()["digests"]))
        assert invoke(store.url, "projections", "rebuild", cwd=tmp_path).exit_code == 0
    else:
        (sealed,), (started,) = (recorded(store, each, "2") for each in ("RunSealed", "RunStarted"))
        store.log.events.put(
            [started.model_copy(update={"originator_version": sealed.originator_version + 1})]
        )
    for arguments in (("runs",), ("runs", "--json"), ("runs", "--limit", "2", "--json")):
        done = invoke(store.url, *arguments, cwd=tmp_path)
        assert done.exit_code == 1, done.output
        assert "error: the record of run 2 is not as the engine writes it: " in done.stderr
        assert said in done.stderr and "nesting" not in done.stderr, done.stderr
        assert done.stderr.count("error:") == 1
        if "--json" in arguments:
            rows = [row for row in orjson.loads(done.stdout) if "left_out" not in row]
            assert [each["run_number"] for each in rows] == [3, 2, 1][: len(rows)]
            assert [each["status"] for each in rows][:2] == ["completed", "unreadable"]
            assert len({tuple(each) for each in rows}) == 1, "each says as much as the others"
            assert said in rows[1]["problem"] and rows[0]["problem"] is None
            assert rows[1]["run_id"] == str(second)
        else:
            assert "unreadable" in done.stdout and done.stdout.count("completed") == 2
    for choice in ((), ("--since", "2020-01-01"), ("--text", "no run has this name")):
        total = invoke(store.url, "runs", "--total", "--json", *choice, cwd=tmp_path)
        assert total.exit_code == 1 and "the record of run 2" in total.stderr
        cost = orjson.loads(total.stdout)
        assert (cost["damaged"], cost["uncounted"], cost["cost_usd"]) == ([2], [2], None)
    unscored = invoke(store.url, "runs", "--unscored", "--json", cwd=tmp_path)
    assert unscored.exit_code == 1
    counted = {run["run_number"]: run["unscored"] for run in orjson.loads(unscored.stdout)}
    assert counted == {3: 1, 2: None, 1: 1}
    thrown_away = invoke(store.url, "audit", "--only", "thrown-away", "--json", cwd=tmp_path)
    assert thrown_away.exit_code == 0, thrown_away.output
    abandoned = [orjson.loads(line) for line in thrown_away.stdout.splitlines()]
    abandoned = [row for row in abandoned if row["event"] == "EvaluationAbandoned"]
    kinds = {(type(row["run_number"]), type(row["case"]), row["model"]) for row in abandoned}
    assert kinds == {(int, str, "m")}
    assert "cannot be counted" in thrown_away.stdout
