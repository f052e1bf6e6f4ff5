"""`import` from the command line: what is written, what is on record, and what is refused."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from failproof_es.engine import imported_cases
from failproof_es.events import CasesImported
from failproof_es.store.reading.reader import find
from failproof_es.store.store import Store
from tests.acceptance.commands import invoke

ROWS = "question,answer,note\nSay number 1.,number 1,a\nSay number 2.,number 2,b\n,x,c\n"
MAPPED = ("--column", "prompt=question", "--column", "expected=answer")


def importing(
    store: Store, folder: Path, *arguments: object, url: str | None = None, rows: str = ROWS
) -> Result:
    (folder / "q.csv").write_text(rows)
    model = (
        "--provider",
        "openai",
        "--model",
        "mock",
        "--base-url",
        url or "http://127.0.0.1:9/v1",
    )
    given = ("import", "csv", "q.csv", *MAPPED, *model, *arguments)
    return invoke(store.url, *given, cwd=folder)


def recorded(store: Store) -> list[CasesImported]:
    with store.connect() as connection:
        events = [row.event() for row in find(connection, topics=("CasesImported",))]
    return [event for event in events if isinstance(event, CasesImported)]


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_table_is_imported_on_record_and_runs_as_it_is(
    store: Store, mock_url: str, tmp_path: Path
) -> None:
    done = importing(store, tmp_path, "-o", "out", url=mock_url)
    assert done.exit_code == 0, done.output
    assert "q.csv: note: the column is not mapped" in done.stderr
    assert "q.csv:4: question: the case is not written: the prompt is empty" in done.stderr
    [event] = recorded(store)
    assert [(each.path, each.sha256) for each in event.sources] == [
        ("q.csv", sha256(tmp_path / "q.csv"))
    ]
    for each in event.written:
        assert each.sha256 == sha256(tmp_path / each.path)
        assert each.bytes == (tmp_path / each.path).stat().st_size
    assert (event.records, event.cases, event.not_mapped_count) == (3, 2, 2)
    started = invoke(store.url, "start", "out/run.yaml", "--quiet", cwd=tmp_path)
    assert started.exit_code == 0, started.output
    trail = invoke(store.url, "audit", event.about, "--json", cwd=tmp_path)
    [line] = [json.loads(each) for each in trail.stdout.splitlines()]
    assert line["event"] == "CasesImported" and line["details"]["cases"] == 2


def test_the_same_import_has_the_same_id_and_replaces_nothing_unless_told(
    store: Store, tmp_path: Path
) -> None:
    first = importing(store, tmp_path, "-o", "out", "--json")
    before = (tmp_path / "out/cases.jsonl").read_bytes()
    again = importing(store, tmp_path, "-o", "out", "--json")
    assert again.exit_code == 2 and len(recorded(store)) == 1
    assert again.stderr.count("[file-exists]") == 2 and "out/cases.jsonl: " in again.stderr
    assert "out/run.yaml: " in again.stderr
    forced = importing(store, tmp_path, "-o", "out", "--json", "--force")
    told: list[dict[str, Any]] = [json.loads(each.stdout) for each in (first, forced)]
    assert told[0] == told[1] and len(recorded(store)) == 2
    assert told[0]["not_mapped"][1]["line"] == 4 and told[0]["not_mapped_count"] == 2
    assert (tmp_path / "out/cases.jsonl").read_bytes() == before


def test_strict_writes_and_records_nothing_where_anything_is_lost(
    store: Store, tmp_path: Path
) -> None:
    done = importing(store, tmp_path, "-o", "out", "--strict")
    assert done.exit_code == 2 and done.stderr.count("[not-mapped]") == 3
    assert "q.csv:4: question" in done.stderr
    assert not (tmp_path / "out").exists() and recorded(store) == []
    whole = importing(store, tmp_path, "-o", "out", "--strict", rows="question,answer\nq,a\n")
    assert whole.exit_code == 0, whole.output


@pytest.mark.parametrize(
    ("arguments", "pattern"),
    [
        (("import", "csv", "q.csv"), r"--output: .*\[missing-option\]"),
        (("import", "cvs", "q.csv", "-o", "out"), "did you mean 'csv'"),
        (("import", "csv", "missing.csv", "-o", "out"), r"missing\.csv.*\[file-not-found\]"),
        (
            ("import", "csv", "q.csv", "-o", "out", "--column", "prompt"),
            r"--column: .*\[invalid-option\]",
        ),
        (
            ("import", "csv", "q.csv", "-o", "out", "--split", "test"),
            r"--split: .*\[invalid-option\]",
        ),
        (
            ("import", "csv", "q.csv", "-o", "out", *MAPPED, "--match", "near"),
            r"--match: .*\[invalid-option\]",
        ),
        (
            ("import", "csv", "q.csv", "-o", "out", *MAPPED, "--model", "m"),
            r"--provider: .*\[missing-option\]",
        ),
        (
            ("import", "csv", "q.csv", "-o", "out", *MAPPED, "--provider", "x", "--model", "m"),
            "out/run.yaml",
        ),
        (("import", "csv", "empty.csv", "-o", "out"), r"empty\.csv.*\[empty-file\]"),
    ],
)
def test_a_mistake_is_told_and_nothing_is_written(
    tmp_path: Path, arguments: tuple[str, ...], pattern: str
) -> None:
    (tmp_path / "q.csv").write_text(ROWS)
    (tmp_path / "empty.csv").write_text("")
    done = invoke("postgresql://nobody@127.0.0.1:1/none", *arguments, cwd=tmp_path)
    assert done.exit_code == 2 and re.search(pattern, done.stderr), done.stderr
    assert not (tmp_path / "out").exists()


def test_a_key_in_place_of_its_variable_is_refused_and_not_repeated(
    store: Store, tmp_path: Path
) -> None:
    done = importing(store, tmp_path, "-o", "out", "--api-key-env", "sk-proj-1234567890")
    assert done.exit_code == 2 and "1234567890" not in done.output + done.stderr


def test_files_that_cannot_be_put_in_place_are_on_record_and_nothing_else_is(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, pieces: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(imported_cases, "atomic_write", full)
    done = importing(store, tmp_path, "-o", "out")
    assert done.exit_code == 2 and "no space left" in done.stderr
    assert len(recorded(store)) == 1 and not (tmp_path / "out/cases.jsonl").exists()
    monkeypatch.undo()
    assert importing(store, tmp_path, "-o", "out").exit_code == 0


def test_without_a_database_nothing_is_written(tmp_path: Path) -> None:
    (tmp_path / "q.csv").write_text(ROWS)
    url = "postgresql://nobody@127.0.0.1:1/none"
    done = invoke(url, "import", "csv", "q.csv", *MAPPED, "-o", "out", cwd=tmp_path)
    assert done.exit_code == 2 and not (tmp_path / "out").exists()


def test_an_edited_prompt_of_promptfoo_is_compared_with_the_run_before(
    store: Store, mock_url: str, tmp_path: Path
) -> None:
    model = ("--provider", "openai", "--model", "mock", "--base-url", mock_url)
    for number, prompt in enumerate(("Say {{q}}.", "Please say {{q}}!"), 1):
        (tmp_path / "promptfooconfig.yaml").write_text(
            f"prompts: ['{prompt}']\n"
            "tests: [{vars: {q: number 1}, assert: [{type: contains, value: number}]}]\n"
        )
        made = ("import", "promptfoo", ".", "-o", "out", "--force", *model)
        for command in (made, ("start", "out/checked.yaml", "--quiet")):
            done = invoke(store.url, *command, cwd=tmp_path)
            assert done.exit_code == 0, done.output
            if command is made and number == 2:
                assert "kept in out/checked.yaml, without comments: gates" in done.stderr
        with (tmp_path / "out/checked.yaml").open("a") as configuration:
            configuration.write("gates: {max_unscored_rate: 1.0}\n" if number == 1 else "")
        shown = invoke(store.url, "show", str(number), "--json", cwd=tmp_path)
        assert json.loads(shown.stdout)["counts"]["scored"] == 1
    told = invoke(store.url, "diff", "1", "2", "--json", cwd=tmp_path)
    [row] = json.loads(told.stdout)["results"]
    assert (row["pairs"], row["unpaired"]) == (1, [])


def test_case_files_of_our_own_are_copied_byte_for_byte(store: Store, tmp_path: Path) -> None:
    shipped = Path(imported_cases.__file__).parents[2] / "suites/redteam"
    done = invoke(store.url, "import", "suite", shipped, "-o", "out", "--json", cwd=tmp_path)
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["not_mapped_count"] == 0
    for file in shipped.glob("*.jsonl"):
        assert (tmp_path / "out" / file.name).read_bytes() == file.read_bytes()
    listed = invoke("", "suites", "validate", "out", cwd=tmp_path)
    assert listed.exit_code == 0, listed.output
