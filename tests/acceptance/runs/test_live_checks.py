"""What a drive checks while it goes: the same findings, counts and seal as a full reading."""

from __future__ import annotations

import asyncio
import copy
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import orjson
import psycopg
import pytest

from failproof_es.configuration.loading import load_configuration
from failproof_es.core.run import Run
from failproof_es.engine import driver, resume, start
from failproof_es.engine.finish import final_pass, live_checks
from failproof_es.engine.finish import finalize as ending
from failproof_es.engine.finish.checked_streams import CheckedStreams
from failproof_es.engine.finish.final_pass import FinalScan, scan_finished_run
from failproof_es.engine.finish.live_checks import LiveChecks
from failproof_es.engine.finish.validation import Validation, check_other_streams
from failproof_es.engine.history import RecordedEvaluation
from failproof_es.events import (
    CasesPlanned,
    EvaluationEvent,
    Event,
    PromptStored,
    ResponseReceived,
    Scored,
)
from failproof_es.ledger.leaf import leaf_hash
from failproof_es.store.ledger import LedgerBroken
from failproof_es.store.reading.reader import RecordedEvent, find
from failproof_es.store.store import Store
from tests.acceptance.commands import write_configuration, write_suite
from tests.acceptance.dialects.test_redteam import judging_server, write_run
from tests.acceptance.runs.test_finishing import drive, nothing
from tests.conftest import as_administrator

SEED = 20261123
TAMPERINGS = 60
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
Administrator = psycopg.Connection[Any]
Rows = Sequence[RecordedEvent]


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
        "known": scan.known,
        "filed": scan.filed,
        "validated": scan.validated(beside),
        "seal": seal,
    }


@contextmanager
def tampering(url: str) -> Iterator[Administrator]:
    """A superuser's transaction that leaves nothing behind."""
    with (
        psycopg.connect(as_administrator(url), autocommit=True) as connection,
        connection.transaction(force_rollback=True),
    ):
        connection.execute("SET LOCAL event_triggers = off")
        connection.execute("ALTER TABLE failproof.events DISABLE TRIGGER ALL")
        yield connection


@pytest.fixture
def faulty(store: Store, tmp_path: Path, mock_url: str, monkeypatch: pytest.MonkeyPatch) -> Driven:
    """Two models, two repetitions; retries, errors, cut-off and voided replies, a key."""
    monkeypatch.setenv("CANARY_KEY", KEY)
    cases = [
        {"case_id": f"case-{n}", "suite_id": "faults", "prompt": f"{tmp_path.name} {prompt}"}
        for n, prompt in enumerate(PROMPTS)
    ]
    (tmp_path / "suite.jsonl").write_bytes(b"\n".join(map(orjson.dumps, cases)))
    one = {"provider": "openai", "base_url": mock_url, "api_key_env": "CANARY_KEY"}
    write_configuration(
        tmp_path,
        mock_url,
        models=[{**one, "model": "mock"}, {**one, "model": "mock", "seed": 7}],
        execution={"repetitions": 2, "retry_attempts": 1, "retry_delay_ms": 1},
        prices={
            "version": "2026-11-01",
            "models": [
                {"model": "mock", "input_usd_per_million": 1.0, "output_usd_per_million": 1.0}
            ],
        },
    )
    return driven(store, tmp_path, monkeypatch)


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


def test_one_altered_row_is_told_whichever_it_is(store: Store, faulty: Driven) -> None:
    """With a writer's hash that fits: nothing but the comparison with the rows can tell."""
    unchanged = facts_of(store, faulty)
    otherwise = {"Scored": {"scores": {"accuracy": 0.25}}, "EvaluationAbandoned": {"kind": "odd"}}
    last = [row for row in of_run(store) if row.topic in otherwise]
    assert len(last) == len(PROMPTS) * 4
    for row in last:
        with tampering(store.url) as connection:
            write(connection, row, {**row.payload(), **otherwise[row.topic]})
            altered = facts(connection, faulty.run, faulty.checked)
            assert altered == facts(connection, faulty.run, None)
        said = "counts" if row.topic == "Scored" else "validated"
        assert altered[said] != unchanged[said]
        assert altered["seal"] != unchanged["seal"]


def facts_of(store: Store, done: Driven) -> dict[str, Any]:
    with store.connect() as connection:
        return facts(connection, done.run, done.checked)


# -- ways to tamper ----------------------------------------------------------------------------


def write(connection: Administrator, row: RecordedEvent, payload: dict[str, Any]) -> None:
    """Have the row say something else, with a writer's hash that fits."""
    state = orjson.dumps(payload)
    leaf = leaf_hash(row.stream_id.bytes, row.version, row.topic.encode(), state)
    change(connection, row, "state = %s, leaf_hash = %s", state, leaf)


def change(connection: Administrator, row: RecordedEvent, what: str, *values: Any) -> None:
    statement = f"UPDATE failproof.events SET {what} WHERE notification_id = %s"
    connection.execute(statement.encode(), (*values, row.position))


def say_otherwise(connection: Administrator, chance: random.Random, rows: Rows) -> None:
    row = chance.choice(rows)
    payload = row.payload()
    field = chance.choice(sorted(set(payload) - {"schema_version"}))
    other = chance.choice([None, 0, 7, "other", [], {}, "2026-11-23T00:00:00Z", str(uuid4())])
    write(connection, row, {**payload, field: other})


def alter_a_text(connection: Administrator, chance: random.Random, rows: Rows) -> None:
    row = chance.choice([row for row in rows if row.topic == "ResponseReceived"])
    payload = row.payload()
    field = chance.choice(["text", "finish_reason", "model", "body"])
    write(connection, row, {**payload, field: "something else"})


def alter_a_prompt(connection: Administrator, chance: random.Random, rows: Rows) -> None:
    row = chance.choice([row for row in rows if row.topic == "PromptStored"])
    payload = row.payload()
    write(connection, row, {**payload, "case": {**payload["case"], "category": "other"}})


def flip_a_byte(connection: Administrator, chance: random.Random, rows: Rows) -> None:
    row = chance.choice(rows)
    state = bytearray(row.state)
    state[chance.randrange(len(state))] ^= 1 << chance.randrange(7)
    change(connection, row, "state = %s", bytes(state))


def forget_the_hash(connection: Administrator, chance: random.Random, rows: Rows) -> None:
    change(connection, chance.choice(rows), "leaf_hash = NULL")


def leave_out(connection: Administrator, chance: random.Random, rows: Rows) -> None:
    row = chance.choice(rows)
    statement = "DELETE FROM failproof.events WHERE notification_id = %s"
    connection.execute(statement, (row.position,))


def say_twice(connection: Administrator, chance: random.Random, rows: Rows) -> None:
    row = chance.choice(rows)
    last = max(each.version for each in rows if each.stream_id == row.stream_id)
    add(connection, row, row.stream_id, last + chance.randint(1, 2))


def add_a_stream(connection: Administrator, chance: random.Random, rows: Rows) -> None:
    add(connection, chance.choice(rows), uuid4(), 1)


def add(connection: Administrator, row: RecordedEvent, stream: UUID, version: int) -> None:
    leaf = leaf_hash(stream.bytes, version, row.topic.encode(), row.state)
    connection.execute(
        "INSERT INTO failproof.events (originator_id, originator_version, topic, state, run_id, "
        "leaf_hash) VALUES (%s, %s, %s, %s, %s, %s) ON CONFLICT DO NOTHING",
        (stream, version, row.topic, row.state, row.run_id, leaf),
    )


def renumber(connection: Administrator, chance: random.Random, rows: Rows) -> None:
    row = chance.choice(rows)
    version = row.version + 100
    leaf = leaf_hash(row.stream_id.bytes, version, row.topic.encode(), row.state)
    change(connection, row, "originator_version = %s, leaf_hash = %s", version, leaf)


def call_otherwise(connection: Administrator, chance: random.Random, rows: Rows) -> None:
    row = chance.choice(rows)
    topic = chance.choice(["Scored", "AttemptLost", "PromptStored", "Unheard"])
    leaf = leaf_hash(row.stream_id.bytes, row.version, topic.encode(), row.state)
    change(connection, row, "topic = %s, leaf_hash = %s", topic, leaf)


def file_elsewhere(connection: Administrator, chance: random.Random, rows: Rows) -> None:
    change(connection, chance.choice(rows), "run_id = %s", chance.choice([None, uuid4()]))


def plan_otherwise(connection: Administrator, chance: random.Random, rows: Rows) -> None:
    """One twice, one left out, or one twice in place of another."""
    row = next(row for row in rows if row.topic == "CasesPlanned")
    payload = row.payload()
    digests = list(payload["digests"])
    way = chance.randrange(3)
    if way:
        digests.pop(chance.randrange(len(digests)))
    if way != 1:
        digests.insert(chance.randrange(len(digests)), chance.choice(digests))
    write(connection, row, {**payload, "digests": digests})


WAYS: tuple[Callable[[Administrator, random.Random, Rows], None], ...] = (
    say_otherwise,
    alter_a_text,
    alter_a_prompt,
    flip_a_byte,
    forget_the_hash,
    leave_out,
    say_twice,
    add_a_stream,
    renumber,
    call_otherwise,
    file_elsewhere,
    plan_otherwise,
)


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
