"""How a run ends: read once, and killed between its last words it ends as if it had not been."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import orjson
import psycopg
import pytest

from failproof_es.configuration.loading import load_configuration
from failproof_es.engine import history as recorded
from failproof_es.engine.drive.run_stream import RunStream
from failproof_es.engine.finish import finalize as ending
from failproof_es.engine.finish.final_pass import FinalScan, scan_finished_run
from failproof_es.engine.finish.live_checks import LiveChecks
from failproof_es.engine.finish.sealing import seal_of
from failproof_es.engine.lifecycle import start
from failproof_es.events import CasesPlanned, Event, RunValidated, Scored
from failproof_es.ledger.leaf import leaf_hash
from failproof_es.store.reading import leaf_rows, reader, stream_leaves
from failproof_es.store.reading.reader import RecordedEvent, find, resolve_run
from failproof_es.store.store import Store
from tests.acceptance.commands import invoke
from tests.acceptance.runs.test_gates import CASES, PRICE, configured, model

ENDING = ("RunCompleted", "RunValidated", "RunSealed")


def gated(folder: Path) -> None:
    """A run with every kind of gate that is judged by what was read."""
    configured(
        folder,
        model("m", [1, 12], breaks_at=[5]),
        gates={
            "min_accuracy": 0.5,
            "min_accuracy_by_suite": {"even": 0.8, "odd": 0.9},
            "max_cost_usd": 1.0,
            "max_unscored_rate": 0.1,
        },
        prices={"version": "2026-11-01", "models": [{"model": "m", **PRICE}]},
    )


def drive(store: Store, folder: Path) -> None:
    """Start the run and drive it to its end, without a command around it."""
    loaded = load_configuration(folder / "run.yaml")
    asyncio.run(start(loaded, store, observe=nothing, stop=asyncio.Event(), say=nothing))


def nothing(*_: object) -> None:
    """To be told something, and do nothing."""


def last_words(store: Store, run: int) -> dict[str, Mapping[str, Any]]:
    """The events that end a run by their topic, each there once, in their order."""
    with store.connect() as connection:
        rows = list(find(connection, run_id=resolve_run(connection, str(run)), topics=ENDING))
    assert [row.topic for row in rows] == list(ENDING)
    return {row.topic: row.payload() for row in rows}


def test_what_is_done_before_the_first_request_is_told(store: Store, tmp_path: Path) -> None:
    told: list[str] = []

    @contextmanager
    def step(what: str) -> Iterator[None]:
        told.append(what)
        yield
        told.append(f"{what}: done")

    def observe(event: Event) -> None:
        told.append(type(event).__name__)

    gated(tmp_path)
    loaded = load_configuration(tmp_path / "run.yaml")
    asyncio.run(start(loaded, store, observe=observe, stop=asyncio.Event(), say=nothing, step=step))
    steps = (
        "reading and checking the suites and the models", "storing the cases", "recording the plan"
    )  # fmt: skip
    begin = [line for each in steps for line in (each, f"{each}: done")]
    assert told[: len(begin) + 2] == [*begin, "RunStarted", "RequestSent"]


@pytest.mark.parametrize("checked", ["live", "at the end"])
def test_every_event_of_an_evaluation_is_fetched_once_from_its_end_to_the_seal(
    checked: str, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the gates, the check and the seal together. What was checked live is only hashed."""
    fetched: Counter[tuple[UUID, int]] = Counter()
    leaf_row, hashed_row = leaf_rows._leaf_row, stream_leaves._add

    def counted_leaf(row: bytes | memoryview) -> leaf_rows.LeafRow:
        leaf = leaf_row(row)
        fetched[UUID(bytes=leaf.stream_id), leaf.version] += 1
        return leaf

    def counted_hash(found: Any, row: memoryview, run: bytes | None, before: int) -> int:
        fetched[UUID(bytes=bytes(row[6:22])), int.from_bytes(row[26:34])] += 1
        return hashed_row(found, row, run, before)

    def counted_event(**columns: Any) -> RecordedEvent:
        fetched[columns["stream_id"], columns["version"]] += 1
        return RecordedEvent(**columns)

    gated(tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(leaf_rows, "_leaf_row", counted_leaf)
        patched.setattr(stream_leaves, "_add", counted_hash)
        patched.setattr(reader, "RecordedEvent", counted_event)
        if checked == "at the end":
            patched.setattr(LiveChecks, "begin", nothing)
        drive(store, tmp_path)
    with store.connect() as connection:
        run_id = resolve_run(connection, "1")
        events = [row for row in find(connection, run_id=run_id) if row.stream_id != run_id]
    assert len({row.stream_id for row in events}) == CASES
    of_evaluations = Counter({(row.stream_id, row.version): 1 for row in events})
    assert {each: fetched[each] for each in of_evaluations} == of_evaluations
    last_words(store, 1)


@pytest.mark.slow
@pytest.mark.parametrize("word", ENDING)
@pytest.mark.thinned(whole=3)
def test_a_run_killed_between_its_last_words_ends_as_one_that_was_not(
    word: str, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gated(tmp_path)
    drive(store, tmp_path)
    record = RunStream.record

    async def killed(self: RunStream, kind: type[Event], **fields: Any) -> None:
        if kind.__name__ == word:
            raise RuntimeError("the process ends here")
        await record(self, kind, **fields)

    with monkeypatch.context() as patched:
        patched.setattr(RunStream, "record", killed)
        assert invoke(store.url, "start", "run.yaml", "--quiet", cwd=tmp_path).exit_code == 1
    with store.connect() as connection:
        run_id = resolve_run(connection, "2")
        said = [row.topic for row in find(connection, run_id=run_id, topics=ENDING)]
    assert said == list(ENDING[: ENDING.index(word)])

    resumed = invoke(store.url, "resume", "2", "--quiet", cwd=tmp_path)
    assert resumed.exit_code == 3, "the cost is unknown"
    whole, again = last_words(store, 1), last_words(store, 2)
    assert again["RunCompleted"]["gates"] == whole["RunCompleted"]["gates"]
    for told in ("passed", "checked", "findings", "more", "usage", "cost_usd"):
        assert again["RunValidated"][told] == whole["RunValidated"][told], told
    with store.connect() as connection:
        rows = [row for row in find(connection, run_id=run_id) if row.topic != "RunSealed"]
    assert again["RunSealed"]["streams"] == CASES + 1
    assert again["RunSealed"]["events"] == len(rows)
    verified = invoke(store.url, "verify", "2", cwd=tmp_path)
    assert verified.exit_code == 0, verified.output


def test_what_is_altered_after_it_was_read_is_not_what_was_sealed(
    store: Store,
    tmp_path: Path,
    administrator: psycopg.Connection[object],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By somebody who may do everything, the writer's hash with it, before the tree has it."""
    record = RunStream.record

    async def altered(self: RunStream, kind: type[Event], **fields: Any) -> None:
        if kind is RunValidated:
            alter_a_score(store, administrator)
        await record(self, kind, **fields)

    gated(tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(RunStream, "record", altered)
        drive(store, tmp_path)
    sealed = last_words(store, 1)["RunSealed"]
    with store.connect() as connection:
        assert seal_of(connection, resolve_run(connection, "1")).root.hex() != sealed["root"]
    signed = invoke(store.url, "ledger", "checkpoint", cwd=tmp_path)
    assert signed.exit_code == 0, signed.output
    verified = invoke(store.url, "verify", "1", cwd=tmp_path)
    assert verified.exit_code == 1 and "seal" in verified.output, verified.output


def test_an_evaluation_that_is_planned_twice_hides_no_other_one(
    store: Store,
    tmp_path: Path,
    administrator: psycopg.Connection[object],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The plan altered so that one case stands for another: as many streams as before."""

    def altered(*arguments: Any, **more: Any) -> FinalScan:
        with store.connect() as connection:
            [row] = find(connection, topics=[CasesPlanned.__name__])
        *planned, _ = row.payload()["digests"]
        alter(administrator, row, digests=[*planned, planned[0]])
        return scan_finished_run(*arguments, **more)

    configured(tmp_path, model("m", [1, 12]))
    with monkeypatch.context() as patched:
        patched.setattr(recorded, "WINDOW", 7)  # far from each other in the plan
        patched.setattr(ending, "scan_finished_run", altered)
        drive(store, tmp_path)
    said = last_words(store, 1)
    found = [each for each in said["RunValidated"]["findings"] if each["integrity"]]
    assert "streams_differ" in {each["kind"] for each in found}
    assert "20 evaluations planned; no more than 19 are different" in str(found)
    with store.connect() as connection:
        rows = list(find(connection, run_id=resolve_run(connection, "1")))
    assert said["RunSealed"]["streams"] == CASES + 1, "what the plan left out is sealed with it"
    assert said["RunSealed"]["events"] == len(rows) - 1


def alter_a_score(store: Store, administrator: psycopg.Connection[object]) -> None:
    with store.connect() as connection:
        row = next(iter(find(connection, topics=[Scored.__name__])))
    alter(administrator, row, reason="said otherwise")


def alter(administrator: psycopg.Connection[object], row: RecordedEvent, **changed: Any) -> None:
    """Change what an event says, with a writer's hash that fits."""
    state = orjson.dumps({**row.payload(), **changed})
    leaf = leaf_hash(row.stream_id.bytes, row.version, row.topic.encode(), state)
    administrator.execute("SET event_triggers = off")
    administrator.execute("ALTER TABLE failproof.events DISABLE TRIGGER ALL")
    administrator.execute(
        "UPDATE failproof.events SET state = %s, leaf_hash = %s WHERE notification_id = %s",
        (state, leaf, row.position),
    )
