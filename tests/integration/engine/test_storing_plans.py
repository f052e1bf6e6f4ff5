"""Storing the prompts of a plan: batches, rivals, kills between batches, files that change."""

from __future__ import annotations

import dataclasses
import hashlib
import threading
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import orjson
import pytest

from failproof_es.configuration.loading import load_configuration
from failproof_es.core.case import Case, Turn, prompt_id
from failproof_es.engine.planning import planner
from failproof_es.engine.planning.planner import CollectedCases, store_plan, store_prompts
from failproof_es.engine.planning.sources import source_of
from failproof_es.events import PromptStored
from failproof_es.problems import InvalidInput
from failproof_es.store.mapper import LogEntry, encode, prompt_entry
from failproof_es.store.reading.reader import read_streams
from failproof_es.store.store import Store
from failproof_es.store.writing.appending import append_first

BATCH = 3


def case_of(number: int) -> Case:
    return Case(
        dialect="failproof", case_id=f"c{number}", suite_id="s",
        turns=(Turn(role="user", content=f"Say ü {number}."),), document={"b": 1, "a": number},
    )  # fmt: skip


def stored(store: Store) -> list[str]:
    """The digests of all prompts in the log, in the order in which they were stored."""
    with store.connect() as connection:
        rows = connection.execute(
            "SELECT originator_id FROM failproof.stored_events WHERE topic = 'PromptStored' "
            "ORDER BY notification_id"
        ).fetchall()
        streams = read_streams(connection, [row[0] for row in rows])
    events = [event for row in rows for event in (each.event() for each in streams[row[0]])]
    assert all(isinstance(each, PromptStored) for each in events)
    return [each.digest for each in events if isinstance(each, PromptStored)]


def write(folder: Path, *files: Sequence[int], **prompts: Any) -> Any:
    """The source of these cases, one file for each sequence of numbers."""
    paths = []
    for index, numbers in enumerate(files):
        path = folder / f"{index}.jsonl"
        lines = [{"case_id": f"c{n}", "suite_id": "s", "prompt": f"Say {n}."} for n in numbers]
        path.write_bytes(b"".join(orjson.dumps(line) + b"\n" for line in lines))
        paths.append(str(path))
    model = {"provider": "openai", "base_url": "http://127.0.0.1:9/v1", "model": "m"}
    configuration = {
        "test_run": {"name": "n"}, "models": [model],
        "prompts": {"path": paths, "dialect": "failproof", **prompts},
    }  # fmt: skip
    (folder / "run.yaml").write_bytes(orjson.dumps(configuration))
    nowhere: Any = None
    return source_of(load_configuration(folder / "run.yaml"), nowhere)


def test_a_prompt_is_stored_byte_for_byte_as_its_event_is_encoded() -> None:
    case, now = case_of(1), datetime.now(UTC)
    for at in (now, now.replace(microsecond=0)):
        event = PromptStored(
            originator_id=prompt_id(case.digest()), originator_version=1, run_id=None,
            timestamp=at, digest=case.digest(), case=case,
        )  # fmt: skip
        document = orjson.dumps(case.model_dump(mode="json"))
        entry = prompt_entry(event.originator_id, case.digest(), document, at)
        assert entry == LogEntry(event.originator_id, 1, "PromptStored", encode(event), run_id=None)


@pytest.mark.parametrize("cases", [0, 1, BATCH - 1, BATCH, BATCH + 1, 3 * BATCH])
def test_every_prompt_is_stored_once_at_every_edge_of_a_batch(
    store: Store, monkeypatch: pytest.MonkeyPatch, cases: int
) -> None:
    monkeypatch.setattr(planner, "_BATCH_CASES", BATCH)
    wanted = [case_of(number) for number in range(cases)]
    digests = store_prompts(store, wanted)
    assert digests == [case.digest() for case in wanted] == stored(store)
    assert store_prompts(store, [*wanted, *wanted]) == digests * 2  # nothing is stored again
    assert stored(store) == digests


def test_a_batch_is_bounded_by_its_bytes(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planner, "_BATCH_BYTES", 1)
    batches: list[int] = []

    def counted(store: Store, entries: Sequence[LogEntry]) -> None:
        batches.append(len(entries))
        append_first(store, entries)

    monkeypatch.setattr(planner, "append_first", counted)
    digests = store_prompts(store, [case_of(number) for number in range(3)])
    assert (batches, stored(store)) == ([1, 1, 1], digests)


def test_of_two_that_store_the_same_prompts_at_once_each_finds_all_of_them(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planner, "_BATCH_CASES", 5)
    wanted = [case_of(number) for number in range(60)]
    failed: list[BaseException] = []

    def run(cases: list[Case]) -> None:
        try:
            with Store(store.url) as own:
                store_prompts(own, cases)
        except BaseException as error:
            failed.append(error)

    threads = [
        threading.Thread(target=run, args=(cases,))
        for cases in (wanted, wanted[::-1], wanted[20:], wanted[::2])
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not failed
    assert sorted(stored(store)) == sorted(case.digest() for case in wanted)


def test_what_was_stored_before_a_batch_failed_stays_and_is_not_stored_again(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planner, "_BATCH_CASES", BATCH)
    wanted = [case_of(number) for number in range(3 * BATCH)]

    def dies(store: Store, entries: Sequence[LogEntry], calls: list[int] = []) -> None:  # noqa: B006
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        append_first(store, entries)

    monkeypatch.setattr(planner, "append_first", dies)
    with pytest.raises(KeyboardInterrupt):
        store_prompts(store, wanted)
    assert stored(store) == [case.digest() for case in wanted[:BATCH]]
    monkeypatch.setattr(planner, "append_first", append_first)
    store_prompts(store, wanted)
    assert stored(store) == [case.digest() for case in wanted]


def read(source: Any) -> tuple[Any, CollectedCases]:
    cases = CollectedCases()
    return source.read(cases.add), cases


def test_several_files_are_read_once_and_counted_each(store: Store, tmp_path: Path) -> None:
    source = write(tmp_path, [1, 2], [3], [4, 5, 6])
    loads: list[Sequence[Path]] = []
    kind = type(source.dialect)
    original = kind.load_by_file

    def counted(files: Sequence[Path], problems: Any) -> Any:
        loads.append(files)
        return original(files, problems)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(kind, "load_by_file", staticmethod(counted))
        plan = store_plan(store, source, *read(source))
    assert len(loads) == 1
    assert [suite.cases for suite in plan.suites] == [2, 1, 3]
    assert list(plan.planned_cases.digests()) == stored(store)
    for suite in plan.suites:
        assert hashlib.sha256(Path(suite.path).read_bytes()).hexdigest() == suite.sha256


class _Plain:
    """A dialect that only loads: it does not say which file a case is from."""

    def __init__(self, dialect: Any) -> None:
        self.name, self.suffixes = dialect.name, dialect.suffixes
        self.recognises, self.load = dialect.recognises, dialect.load


def test_a_dialect_that_does_not_tell_files_gives_the_same_plan(tmp_path: Path) -> None:
    source = write(tmp_path, [1, 2], [3, 1], [4], on_invalid="skip")
    told, cases = read(source)
    again, others = read(dataclasses.replace(source, dialect=_Plain(source.dialect)))
    assert again == told
    assert [part.cases for part in told.parts] == [2, 1, 1]
    assert list(others.spool) == list(cases.spool)


class _OwnCase(Case):
    hint: str = "a field of the dialect's own"


class _OtherFamily(Case):
    """Its property would not come back from the log."""

    @property
    def family(self) -> tuple[str, str]:
        return "other", "family"


class _GivesOwn(_Plain):
    def __init__(self, dialect: Any, kind: type[Case]) -> None:
        super().__init__(dialect)
        self.load = lambda *given: (kind(**vars(case)) for case in dialect.load(*given))


@pytest.mark.parametrize("kind", [_OwnCase, _OtherFamily])
@pytest.mark.parametrize("files", [[[1, 2]], [[1], [2]]], ids=["one file", "two files"])
@pytest.mark.parametrize("on_invalid", ["error", "skip"])
def test_a_subclass_of_a_case_is_refused_because_it_would_not_be_read_back(
    store: Store, tmp_path: Path, kind: type[Case], files: Any, on_invalid: str
) -> None:
    source = write(tmp_path, *files, on_invalid=on_invalid)
    source = dataclasses.replace(source, dialect=_GivesOwn(source.dialect, kind))
    refusal = rf"'failproof' .*{kind.__name__}, .*\[plugin-failed\]"
    with pytest.raises(InvalidInput, match=refusal):
        source.read(lambda case: None)
    own = kind(**vars(case_of(1)))
    with pytest.raises(InvalidInput, match=refusal):
        store_prompts(store, [case_of(2), own])
    with pytest.raises(InvalidInput, match=refusal):
        CollectedCases().add(own)
    assert stored(store) == []


def test_a_defect_in_the_last_line_keeps_everything_from_being_stored(
    store: Store, tmp_path: Path
) -> None:
    source = write(tmp_path, range(50), [1])
    with pytest.raises(InvalidInput, match=r"'c1'.*\[duplicate-id\]"):
        read(source)
    assert stored(store) == []


def test_a_file_that_changes_after_it_was_read_is_found_before_anything_is_stored(
    store: Store, tmp_path: Path
) -> None:
    source = write(tmp_path, [1, 2], [3])
    reading, cases = read(source)
    (tmp_path / "1.jsonl").write_text("{}")
    with pytest.raises(InvalidInput, match=r"\[file-changed\]"):
        store_plan(store, source, reading, cases)
    assert stored(store) == []


def test_a_file_that_changes_while_it_is_stored_is_found_before_the_run_begins(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = write(tmp_path, [1, 2])
    reading, cases = read(source)

    def changing(store: Store, entries: Sequence[LogEntry]) -> None:
        append_first(store, entries)
        (tmp_path / "0.jsonl").write_text("{}")

    monkeypatch.setattr(planner, "append_first", changing)
    with pytest.raises(InvalidInput, match=r"\[file-changed\]"):
        store_plan(store, source, reading, cases)


def test_long_lines_are_stored_a_few_at_a_time(store: Store) -> None:
    long = [
        case_of(n).model_copy(update={"turns": (Turn(role="user", content=f"{n}" * 2**22),)})
        for n in range(3)
    ]
    assert store_prompts(store, long) == stored(store)
    assert isinstance(prompt_id(long[0].digest()), UUID)


def test_a_full_temporary_folder_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    cases = CollectedCases()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(type(cases.spool), "add", full)
    with pytest.raises(InvalidInput, match=r"No space left.*TMPDIR.*\[file-unwritable\]"):
        cases.add(case_of(1))
