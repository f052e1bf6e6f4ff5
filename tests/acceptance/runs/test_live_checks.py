"""What a drive checks while it goes: the same findings, counts and seal as a full reading."""

from __future__ import annotations

import asyncio
import copy
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import orjson
import pytest

from failproof_es.configuration.loading import load_configuration
from failproof_es.core.run import Run
from failproof_es.engine import driver
from failproof_es.engine.finish import final_pass, live_checks
from failproof_es.engine.finish import finalize as ending
from failproof_es.engine.finish.checked_streams import CheckedStreams
from failproof_es.engine.finish.final_pass import FinalScan, scan_finished_run
from failproof_es.engine.finish.live_checks import LiveChecks
from failproof_es.engine.finish.other_streams import check_other_streams
from failproof_es.engine.finish.validation import Validation
from failproof_es.engine.history import RecordedEvaluation
from failproof_es.engine.lifecycle import resume, start
from failproof_es.events import (
    CasesPlanned,
    EvaluationEvent,
    Event,
    PromptStored,
    ResponseReceived,
    Scored,
)
from failproof_es.store.embedded.server import EmbeddedServer
from failproof_es.store.ledger import LedgerBroken
from failproof_es.store.reading.reader import RecordedEvent, find
from failproof_es.store.store import Store
from tests.acceptance.commands import write_configuration, write_suite
from tests.acceptance.dialects.test_redteam import judging_server, write_run
from tests.acceptance.recording import Recording, recorded_once
from tests.acceptance.runs.tampering import (
    TIMES_NOT_SHOWN,
    WAYS,
    change,
    forget_the_position,
    forget_the_time,
    move_to_the_end,
    tampering,
    write,
)
from tests.acceptance.runs.test_finishing import drive, nothing

SEED = 20261123
TAMPERINGS = 2 * len(WAYS)
KEY = "sk-canary/5d2e+f0a1=="
PROMPTS = (
    "Say 1 [fault:none*0]",
    "Say 2 [fault:http500*1]",
    "Say 3 [fault:http400]",
    "Say 4 [fault:length]",
    "Say 5 [fault:repeatkey]",
    "Say 6 [fault:othermodel]",
    "Say 7 [fault:notjson*1]",
    "Say 8 [fault:nullcontent]",
)


class Driven:
    """A run that was driven to its end, and what the drive had checked of it by then."""

    def __init__(self, run: Run, checked: LiveChecks) -> None:
        self.run = run
        self._checked = checked

    @property
    def checked(self) -> LiveChecks:
        """A copy: each is used once."""
        return copy.deepcopy(self._checked)


def driven(
    store: Store, folder: Path, monkeypatch: pytest.MonkeyPatch, resumed: UUID | None = None
) -> Driven:
    found: list[Driven] = []

    def scan(connection: Any, run: Run, *, checked: LiveChecks, **more: Any) -> FinalScan:
        found.append(Driven(run, copy.deepcopy(checked)))
        return scan_finished_run(connection, run, checked=checked, **more)

    def with_scores(run: Run, *, scores: bool) -> LiveChecks:
        assert scores is False
        return LiveChecks(run, scores=True)

    with monkeypatch.context() as patched:
        patched.setattr(ending, "scan_finished_run", scan)
        patched.setattr(driver, "LiveChecks", with_scores)
        if resumed is None:
            drive(store, folder)
        else:
            how = {"observe": nothing, "stop": asyncio.Event(), "say": nothing}
            asyncio.run(resume(resumed, store, **how))  # type: ignore[arg-type]
    (one,) = found
    return one


def facts(connection: Any, run: Run, checked: LiveChecks | None) -> dict[str, Any]:
    """Everything that the last events are made of."""
    scan = scan_finished_run(connection, run, scores=True, checked=checked)
    beside = check_other_streams(connection, run.started.originator_id, scan.streams.ids())
    try:
        seal: Any = scan.streams.seal(connection)
    except LedgerBroken as broken:
        seal = str(broken)
    return {
        "counts": scan.counts,
        "scores": scan.scores.by_model,
        "known": scan.begun_count,
        "filed": scan.stream_count,
        "validated": scan.validated(beside),
        "seal": seal,
    }


@pytest.fixture(scope="module")
def recorded_faults(
    postgres_server: EmbeddedServer,
    migrated_database: str,
    mock_url: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[Recording, Driven]:
    """Two models, two repetitions; retries, errors, cut-off and voided replies, a key."""
    found: list[Driven] = []

    def record(url: str, folder: Path) -> None:
        cases = [
            {"case_id": f"case-{n}", "suite_id": "faults", "prompt": f"{folder.name} {prompt}"}
            for n, prompt in enumerate(PROMPTS)
        ]
        (folder / "suite.jsonl").write_bytes(b"\n".join(map(orjson.dumps, cases)))
        one = {"provider": "openai", "base_url": mock_url, "api_key_env": "CANARY_KEY"}
        listed = {"model": "mock", "input_usd_per_million": 1.0, "output_usd_per_million": 1.0}
        write_configuration(
            folder,
            mock_url,
            models=[{**one, "model": "mock"}, {**one, "model": "mock", "seed": 7}],
            execution={"repetitions": 2, "retry_attempts": 1, "retry_delay_ms": 1},
            prices={"version": "2026-11-01", "models": [listed]},
        )
        with Store.open(url) as store, pytest.MonkeyPatch.context() as patched:
            patched.setenv("CANARY_KEY", KEY)
            found.append(driven(store, folder, patched))

    recording = recorded_once(postgres_server, migrated_database, tmp_path_factory, record)
    return recording, found[0]


@pytest.fixture
def template(request: pytest.FixtureRequest, migrated_database: str) -> str:
    if "faulty" not in request.fixturenames:
        return migrated_database
    recording: Recording = request.getfixturevalue("recorded_faults")[0]
    return recording.database


@pytest.fixture
def faulty(
    recorded_faults: tuple[Recording, Driven],
    home: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Driven:
    """That run; `store` is on a copy of its log."""
    recording, found = recorded_faults
    recording.copy_files(home, tmp_path)
    monkeypatch.setenv("CANARY_KEY", KEY)
    return found


def of_run(store: Store) -> list[RecordedEvent]:
    """The events of evaluations, the prompts and the plan."""
    with store.connect() as connection:
        rows = list(find(connection))
    kinds = (EvaluationEvent, PromptStored, CasesPlanned)
    return [row for row in rows if isinstance(row.event(), kinds)]


def test_a_full_reading_and_what_was_checked_live_say_the_same(
    store: Store, faulty: Driven, monkeypatch: pytest.MonkeyPatch
) -> None:
    with store.connect() as connection:
        full = facts(connection, faulty.run, None)
        monkeypatch.setattr(final_pass, "_read_all", refused)
        assert facts(connection, faulty.run, faulty.checked) == full
    assert full["validated"]["checked"]["evaluations"] == len(PROMPTS) * 4
    kinds = {finding.kind for finding in full["validated"]["findings"]}
    assert {"cut_off", "not_scored"} <= kinds


def refused(*_: object) -> FinalScan:
    raise AssertionError("everything was read in full")


@pytest.mark.slow
@pytest.mark.wide
def test_judged_evaluations_say_the_same_too(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with judging_server() as url:
        write_run(tmp_path, url)
        judged = driven(store, tmp_path, monkeypatch)
    with store.connect() as connection:
        full = facts(connection, judged.run, None)
        with monkeypatch.context() as patched:
            patched.setattr(final_pass, "_read_all", refused)
            assert facts(connection, judged.run, judged.checked) == full
    assert full["validated"]["passed"]
    compare_tamperings(store, judged, random.Random(SEED))


@pytest.mark.slow
def test_rows_that_were_altered_are_found_as_by_a_full_reading(
    store: Store, faulty: Driven
) -> None:
    compare_tamperings(store, faulty, random.Random(SEED + 1))


def compare_tamperings(store: Store, done: Driven, chance: random.Random) -> None:
    rows = of_run(store)
    said: set[str] = set()
    for n in range(TAMPERINGS):
        with tampering(store.url) as connection:
            for _ in range(chance.randint(1, 2)):
                WAYS[n % len(WAYS)](connection, chance, rows)
            full = facts(connection, done.run, None)
            assert facts(connection, done.run, done.checked) == full, WAYS[n % len(WAYS)].__name__
        said |= {finding.kind for finding in full["validated"]["findings"]}
        said |= {"not sealed"} if isinstance(full["seal"], str) else set()
    expected = {"unreadable", "impossible_history", "streams_differ", "counts_differ"}
    assert expected | {"prompt_altered", "not sealed"} <= said


@pytest.mark.slow
@pytest.mark.wide
def test_a_run_that_was_resumed_is_read_where_another_drive_did_it(
    store: Store, tmp_path: Path, mock_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    cases = 30
    write_suite(tmp_path, cases)
    loaded = load_configuration(
        write_configuration(tmp_path, mock_url, execution={"parallel_workers": 3})
    )
    begun: list[Event] = []

    async def begin() -> None:
        stop = asyncio.Event()

        def observe(event: Event) -> None:
            begun.append(event)
            if sum(isinstance(each, Scored) for each in begun) == cases // 3:
                stop.set()

        await start(loaded, store, observe=observe, stop=stop, say=nothing)

    asyncio.run(begin())
    run_id = begun[0].originator_id
    resumed = driven(store, tmp_path, monkeypatch, run_id)
    live = resumed.checked.validation.checked["evaluations"]
    assert 0 < live <= cases - cases // 3
    with store.connect() as connection:
        full = facts(connection, resumed.run, None)
        with monkeypatch.context() as patched:
            patched.setattr(final_pass, "_read_all", refused)
            assert facts(connection, resumed.run, resumed.checked) == full
    assert full["validated"]["checked"]["evaluations"] == cases
    compare_tamperings(store, resumed, random.Random(SEED + 2))


@pytest.mark.slow
def test_one_altered_row_is_told_whichever_it_is(store: Store, faulty: Driven) -> None:
    """With a writer's hash that fits: nothing but the comparison with the rows can tell."""
    unchanged = facts_of(store, faulty)
    otherwise: dict[str, dict[str, Any]] = {
        "Scored": {"scores": {"accuracy": 0.25}},
        "EvaluationAbandoned": {"kind": "odd"},
    }
    last = [row for row in of_run(store) if row.topic in otherwise]
    assert len(last) == len(PROMPTS) * 4
    for row in last[::5]:
        with tampering(store.url) as connection:
            write(connection, row, {**row.payload(), **otherwise[row.topic]})
            altered = facts(connection, faulty.run, faulty.checked)
            assert altered == facts(connection, faulty.run, None)
        said = "counts" if row.topic == "Scored" else "validated"
        assert altered[said] != unchanged[said]
        assert altered["seal"] != unchanged["seal"]


@pytest.mark.parametrize("topic", ["Scored", "CasesPlanned"])
@pytest.mark.parametrize("forget", [forget_the_time, forget_the_position])
def test_a_run_whose_row_lacks_its_time_or_position_is_not_sealed(
    forget: Callable[..., None], topic: str, store: Store, faulty: Driven
) -> None:
    last = [row for row in of_run(store) if row.topic == topic][-1]
    with tampering(store.url) as connection:
        forget(connection, random.Random(SEED), [last])
        altered = facts(connection, faulty.run, faulty.checked)
        assert altered == facts(connection, faulty.run, None)
    assert "is not an event: its " in altered["seal"]
    assert not altered["validated"]["passed"]


@pytest.mark.parametrize("time", TIMES_NOT_SHOWN)
def test_a_prompt_with_a_time_that_cannot_be_shown_is_unreadable(
    time: str, store: Store, faulty: Driven
) -> None:
    prompt = next(row for row in of_run(store) if row.topic == "PromptStored")
    with tampering(store.url) as connection:
        change(connection, prompt, "recorded_at = %s", time)
        altered = facts(connection, faulty.run, faulty.checked)
        assert altered == facts(connection, faulty.run, None)
    assert not altered["validated"]["passed"]
    assert "unreadable" in {finding.kind for finding in altered["validated"]["findings"]}


def test_the_seal_of_rows_that_were_moved_is_that_of_a_full_reading(
    store: Store, faulty: Driven
) -> None:
    unchanged = facts_of(store, faulty)
    with tampering(store.url) as connection:
        move_to_the_end(connection, random.Random(SEED), of_run(store))
        altered = facts(connection, faulty.run, faulty.checked)
        assert altered == facts(connection, faulty.run, None)
    assert altered["seal"] != unchanged["seal"]


def facts_of(store: Store, done: Driven) -> dict[str, Any]:
    with store.connect() as connection:
        return facts(connection, done.run, done.checked)


# -- what is held -------------------------------------------------------------------------------


def test_checked_streams_give_back_what_was_added_once() -> None:
    chance = random.Random(SEED)
    streams, added = CheckedStreams(), {}
    for _ in range(2_000):
        # few different bytes, so that ids are also found across the edges of records
        stream, digest = (bytes(chance.choices((0, 1), k=size)) for size in (16, 32))
        if stream not in added:
            added[stream] = digest
            streams.add(stream, digest)
    assert len(streams) == len(added)
    assert streams.take(b"\x02" * 16) is None
    for stream, digest in added.items():
        assert stream in streams
        assert streams.take(stream) == digest
        assert streams.take(stream) is None
    assert len(streams) == 0


@pytest.mark.parametrize("most", ["_MOST_HELD_BYTES", "_MOST_CHECKED_BYTES"])
def test_what_is_too_long_to_be_held_is_read_at_the_end(
    most: str, store: Store, tmp_path: Path, mock_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every second prompt is long: one evaluation of it is more than may be held or checked."""
    cases = 6
    lines = [
        {
            "case_id": f"{n}",
            "suite_id": "s",
            "prompt": f"{tmp_path.name} {n} " + "long" * 4_000 * odd,
        }
        for n in range(cases)
        for odd in (n % 2,)
    ]
    (tmp_path / "suite.jsonl").write_bytes(b"\n".join(map(orjson.dumps, lines)))
    write_configuration(tmp_path, mock_url, execution={"parallel_workers": 1})
    monkeypatch.setattr(live_checks, most, 12_000)
    done = driven(store, tmp_path, monkeypatch)
    assert len(done.checked.streams) == cases // 2
    with store.connect() as connection:
        full = facts(connection, done.run, None)
        monkeypatch.setattr(final_pass, "_read_all", refused)
        assert facts(connection, done.run, done.checked) == full
    assert full["validated"]["checked"]["evaluations"] == cases


def test_a_finding_leaves_all_of_the_run_to_the_full_reading(
    store: Store, tmp_path: Path, mock_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Findings are told in the order of the plan: the drive meets them in another one."""
    write_suite(tmp_path, 6)
    write_configuration(tmp_path, mock_url)
    mistaken = {"case-00001", "case-00004"}
    look = Validation._look_at_response

    def misread(self: Validation, response: ResponseReceived, recorded: RecordedEvaluation) -> None:
        look(self, response, recorded)
        if recorded.case.case_id in mistaken:
            self._find("misread", recorded.case.case_id, recorded)

    monkeypatch.setattr(Validation, "_look_at_response", misread)
    done = driven(store, tmp_path, monkeypatch)
    assert len(done.checked.streams) == 0
    with store.connect() as connection:
        full = facts(connection, done.run, None)
        assert facts(connection, done.run, done.checked) == full
    found = [each.message for each in full["validated"]["findings"]]
    assert found == sorted(mistaken)
    assert full["validated"]["checked"]["evaluations"] == 6
