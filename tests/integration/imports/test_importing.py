"""A recorded run is imported once, whatever stops it, and shown, replayed and proven as that."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest

from failproof_es import open as open_run
from failproof_es.core.case import Case, Turn
from failproof_es.engine.imports.importing import ImportOutcome, import_run
from failproof_es.engine.lifecycle import resume
from failproof_es.engine.replays.replay import replay
from failproof_es.events import ImportedReply, SourceFile
from failproof_es.library.evaluating import go_on
from failproof_es.problems import InvalidInput
from failproof_es.recorded_runs.promptfoo_results import read_promptfoo_results
from failproof_es.recorded_runs.records import ForeignRun, RecordedAnswer, Remainder
from failproof_es.store.store import Store
from failproof_es.store.writing.journal import Journal
from projections.runner import catch_up, prepare
from tests.acceptance.commands import invoke, write_configuration, write_suite
from tests.console import console, settings_for
from tests.unit.recorded_runs.reading import FILES, inspect_lines, inspect_run

RESULTS = FILES / "promptfoo_results.json"


class Killed(Exception):
    """The process ended here."""


def answer(number: int, text: str = "42", model: str = "m") -> RecordedAnswer:
    case = Case(
        dialect="checks", case_id=f"c{number}", suite_id="s",
        turns=(Turn(role="user", content=f"Say {number}"),),
        expectation={"checks": [{"kind": "contains", "values": ["42"]}]},
    )  # fmt: skip
    return RecordedAnswer(
        case=case, model=model, place=f"line {number}", sample_sha256="ab" * 32,
        replies=(ImportedReply(text=text),),
    )  # fmt: skip


def recorded(answers: Sequence[RecordedAnswer]) -> ForeignRun:
    return ForeignRun(
        kind="some-kind", tool="Some tool", tool_version="1", name="some run",
        files=(SourceFile(name="a", sha256="cd" * 32, bytes=1),), paths=(),
        source_sha256="cd" * 32,
        answers=iter(answers), remainder=Remainder(),
    )  # fmt: skip


def imported(store: Store, source: ForeignRun, **how: Any) -> ImportOutcome:
    return asyncio.run(import_run(source, store, **how))


def topics(store: Store) -> dict[str, int]:
    with store.connect() as connection:
        rows = connection.execute(
            "SELECT topic, count(*) FROM failproof.stored_events GROUP BY topic"
        ).fetchall()
    return dict(rows)


def test_a_run_of_inspect_is_one_of_its_own_that_asked_nothing(store: Store) -> None:
    done = imported(store, inspect_run(inspect_lines("capitals")))
    assert (done.run.status, done.run.counts.scored, done.already) == ("completed", 6, False)
    assert done.run.validation is not None and done.run.validation.passed
    assert done.run.validation.checked == {"evaluations": 6, "events": 18, "imported answers": 6}
    counted = topics(store)
    assert counted["AnswerImported"] == 6 and counted["RunImported"] == 1
    assert {"RequestSent", "ResponseReceived"}.isdisjoint(counted)
    report = replay(store, done.run.run_id)
    assert (report.agree, report.differences, report.not_finished) == (6, [], 0)


def test_the_same_source_is_imported_once_unless_again(store: Store) -> None:
    first = imported(store, recorded([answer(1)]))
    before = topics(store)
    second = imported(store, recorded([answer(1)]))
    assert second.already and second.run.run_id == first.run.run_id and topics(store) == before
    third = imported(store, recorded([answer(1)]), again=True)
    assert not third.already and third.run.run_number == 2


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 50, 51])
def test_an_import_that_is_killed_at_any_commit_is_completed_by_the_same_command(
    store: Store, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    whole = [answer(n, "42" if n % 2 else "no") for n in range(count)]
    appended = Journal.append
    left = iter((0, 1))  # commits that go through before each kill: of answers, then of the end

    def killing(allowed: int) -> Any:
        gone = 0

        async def append(self: Journal, *events: Any, **how: Any) -> Any:
            nonlocal gone
            if gone >= allowed:
                raise Killed
            gone += 1
            return await appended(self, *events, **how)

        return append

    for allowed in (*left, count // 2, count, count + 1, count + 2):
        monkeypatch.setattr(Journal, "append", killing(allowed))
        try:
            imported(store, recorded(whole))
        except (Killed, BaseExceptionGroup):
            continue
    monkeypatch.setattr(Journal, "append", appended)
    done = imported(store, recorded(whole))
    assert done.run.status == "completed" and done.run.counts.finished == count
    assert topics(store)["AnswerImported"] == count and topics(store)["RunSealed"] == 1
    assert done.run.validation is not None and done.run.validation.passed
    assert replay(store, done.run.run_id).agree == count


def test_what_another_version_began_otherwise_is_not_completed(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def killed(*_: Any, **__: Any) -> None:
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(Journal, "append", killed)
        with pytest.raises(Killed):
            imported(store, recorded([answer(1)]))
    with pytest.raises(InvalidInput, match=r"\[version-mismatch\]"):
        imported(store, recorded([answer(2)]))
    assert imported(store, recorded([answer(1)])).run.status == "completed"


def test_nothing_is_recorded_of_a_source_without_answers_or_that_breaks_off(store: Store) -> None:
    def breaking() -> Iterator[RecordedAnswer]:
        yield answer(1)
        raise InvalidInput.because("broken-off", "it broke off")

    for source, code in (
        (recorded([]), "no-answers"),
        (replace(recorded([]), answers=breaking()), "broken-off"),
    ):
        with pytest.raises(InvalidInput, match=rf"\[{code}\]"):
            imported(store, source)
    assert topics(store) == {}


def test_a_file_that_changed_while_it_was_read_is_not_imported(
    store: Store, tmp_path: Path
) -> None:
    path = tmp_path / "results.json"
    path.write_bytes(RESULTS.read_bytes())
    source = read_promptfoo_results(path)
    path.write_bytes(RESULTS.read_bytes() + b"\n")
    with pytest.raises(InvalidInput, match=r"\[file-changed\]"):
        imported(store, source)
    assert topics(store) == {}


def test_names_of_any_length_are_held_and_a_cut_is_said(store: Store) -> None:
    for length in (200, 201, 70_000):
        long = "n" * length
        one = answer(1, model=long)
        case = one.case.model_copy(update={"case_id": long, "suite_id": long, "category": long})
        done = imported(store, recorded([replace(one, case=case)]), again=True)
        said = [each.count for each in done.imported.unmapped]
        assert said == ([] if length == 200 else [4]), length
    with store.connect() as connection:
        prepare(connection)
        while catch_up(connection):
            pass


def test_answers_that_the_source_lacks_are_said_and_lost(store: Store) -> None:
    done = imported(store, recorded([answer(1), answer(1), answer(2, model="n")]))
    assert (done.run.counts.planned, done.imported.answers, done.imported.absent) == (8, 3, 5)
    assert (done.run.counts.scored, done.run.counts.abandoned) == (3, 5)
    assert done.run.status == "completed" and done.run.gates == {}


def test_a_long_answer_with_characters_that_postgres_has_none_of_is_kept_whole(
    store: Store,
) -> None:
    text = "\0\u2028\U0001f600" + "x" * 3 * 2**20
    done = imported(store, recorded([answer(1, text)]))
    assert done.run.validation is not None and done.run.validation.passed
    assert replay(store, done.run.run_id).agree == 1


def test_resuming_an_imported_run_is_refused_by_name(store: Store) -> None:
    done = imported(store, recorded([answer(1)]))
    how: Any = {"observe": print, "stop": asyncio.Event(), "say": print}
    with pytest.raises(InvalidInput, match=r"imported from Some tool 1.*\[run-imported\]"):
        asyncio.run(resume(done.run.run_id, store, **how))


@pytest.mark.slow
def test_every_command_says_that_the_run_is_imported(store: Store, tmp_path: Path) -> None:
    said = "imported from promptfoo 0.121.20, not asked by us"

    def call(*arguments: str) -> str:
        done = invoke(store.url, *arguments, cwd=tmp_path)
        assert done.exit_code == 0, done.output
        return done.output

    assert said in call("import", "promptfoo-results", str(RESULTS))
    assert "on record already" in call("import", "promptfoo-results", str(RESULTS))
    assert "16" in call("import", "promptfoo-results", str(RESULTS), "--again", "--json")
    for arguments in (
        ("runs", "--json"), ("show", "1"), ("results", "1"), ("diff", "1", "2"),
    ):  # fmt: skip
        assert said in " ".join(call(*arguments).split()), arguments
    call("report", "1", "--format", "md", "-o", "report.md")
    assert said in (tmp_path / "report.md").read_text("utf-8")
    for shape in ("junit", "csv", "inspect", "otel", "sarif"):
        call("export", "1", "--shape", shape, "-o", shape)
        for file in (tmp_path / shape).iterdir():
            assert "imported" in file.read_text("utf-8"), file
    with open_run(1, database_url=store.url) as run:
        assert said in repr(run) and said in run._repr_html_()
    with console(**settings_for(store.url)) as url:
        for page in ("", "/results", "/cost", "/charts"):
            assert said in httpx.get(f"{url}/runs/1{page}", timeout=30).text, page
        assert "Nothing was asked here." in httpx.get(f"{url}/runs/1/cost").text
    shown = orjson.loads(call("show", "1", "--json"))
    counts = shown["counts"]
    assert (counts["requests"], counts["failed_requests"]) == (0, 0)
    assert shown["spending"]["cost_usd"] is None
    assert shown["imported"]["answers"] == 16
    assert any(each["what"] == "an assertion" for each in shown["imported"]["unmapped"])
    assert "16 of 16 evaluations agree" in call("replay", "1")
    call("verify")
    call("evidence", "export", "1", "-o", "run.evidence")
    call("verify", "1")
    for refused in (("resume", "1"), ("resume", "1", "--retry-abandoned")):
        done = invoke(store.url, *refused, cwd=tmp_path)
        assert done.exit_code == 2 and said in " ".join(done.output.split())
    write_suite(tmp_path, 1)
    write_configuration(tmp_path, "http://127.0.0.1:9/v1")
    done = invoke(store.url, "start", "run.yaml", "--reuse", "1", cwd=tmp_path)
    assert done.exit_code == 2
    assert "reuse.from_run" in done.output
    assert f"{said}: it has no requests to compare with" in done.output
    assert go_on("1", database_url=store.url).status == "completed", "as pytest reads it"


def test_a_kind_with_options_of_another_import_is_refused(store: Store, tmp_path: Path) -> None:
    for more in (("--match", "equals"), ("-o", "x"), ("--strict",)):
        done = invoke(store.url, "import", "garak-report", str(RESULTS), *more, cwd=tmp_path)
        assert done.exit_code == 2 and "a recorded run takes none" in done.output
