"""Dialects are found by name or by their files; case files by path, folder or glob."""

from __future__ import annotations

import os
import re
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from failproof_es.dialects import case_files, configured, dialect_named, names, recognise, registry
from failproof_es.problems import InvalidInput

LINE = '{"case_id": "a", "suite_id": "s", "prompt": "?"}\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("b.jsonl", "a.jsonl", "sub/c.jsonl", "notes.md", ".hidden/d.jsonl"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(LINE)
    return tmp_path


def found(paths: str | list[str], folder: Path) -> list[str]:
    files = case_files(paths, [".jsonl"], [folder])
    return [str(file.relative_to(folder)) for file in files]


@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        (".", ["a.jsonl", "b.jsonl", "sub/c.jsonl"]),
        ("a.jsonl", ["a.jsonl"]),
        ("notes.md", ["notes.md"]),
        ("*.jsonl", ["a.jsonl", "b.jsonl"]),
        ("**/*.jsonl", ["a.jsonl", "b.jsonl", "sub/c.jsonl"]),
        ("*", ["a.jsonl", "b.jsonl", "sub/c.jsonl"]),
        (["sub", "a.jsonl", "sub/../a.jsonl"], ["sub/c.jsonl", "a.jsonl"]),
    ],
)
def test_case_files_are_found_once_and_in_order(
    folder: Path, paths: str | list[str], expected: list[str]
) -> None:
    assert found(paths, folder) == expected


def test_the_first_folder_that_has_a_path_wins(folder: Path) -> None:
    assert case_files("c.jsonl", [".jsonl"], [folder, folder / "sub"]) == [folder / "sub/c.jsonl"]


def test_every_missing_path_and_empty_match_is_a_problem(folder: Path) -> None:
    (folder / "void").mkdir()
    with pytest.raises(InvalidInput) as raised:
        case_files(["none.jsonl", "void", "*.csv", "a.jsonl", ""], [".jsonl"], [folder])
    fields = [problem.field for problem in raised.value.problems]
    assert fields == [f"prompts.path[{index}]" for index in (0, 1, 2, 4)]


def test_a_file_whose_name_no_record_can_hold_is_a_problem_that_one_can(folder: Path) -> None:
    (folder / os.fsdecode(b"odd\xff.jsonl")).touch()
    with pytest.raises(InvalidInput) as raised:
        case_files(".", [".jsonl"], [folder])
    (problem,) = raised.value.problems
    assert "the path is not UTF-8" in problem.message
    assert str(problem).startswith(rf"{folder}/odd\udcff.jsonl: prompts.path:")
    assert str(problem).encode("utf-8")


def test_a_path_of_the_command_line_is_not_said_to_stand_in_a_configuration() -> None:
    with pytest.raises(InvalidInput) as raised:
        case_files(["none.jsonl"], [".jsonl"])
    assert [problem.field for problem in raised.value.problems] == [None]
    here = Path.cwd()
    with pytest.raises(InvalidInput, match=rf"looked in {re.escape(str(here))}\)"):
        case_files("none.jsonl", [".jsonl"], [here, here])


def test_an_unknown_dialect_gets_a_suggestion() -> None:
    assert dialect_named("failproof").name == "failproof"
    with pytest.raises(InvalidInput, match="did you mean 'failproof'"):
        dialect_named("failprof")


def test_a_package_can_bring_a_dialect_and_can_not_replace_a_built_in_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    value = "failproof_es.dialects.failproof:FailProof"
    offered = {
        name: EntryPoint(name, at, registry.ENTRY_POINT_GROUP)
        for name, at in (("failproof", "nowhere:X"), ("broken", "nowhere:X"), ("other", value))
    }
    monkeypatch.setattr(registry, "_installed", lambda: offered)
    registry._load.cache_clear()
    assert names() == [*registry._BUILT_IN, "broken", "other"]
    assert dialect_named("failproof").name == "failproof"
    with pytest.raises(InvalidInput, match="can't be loaded: ModuleNotFoundError"):
        dialect_named("broken")
    with pytest.raises(InvalidInput, match="calls itself 'failproof'"):
        dialect_named("other")


def test_a_damaged_file_goes_to_the_first_dialect_of_its_suffix(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text("nonsense")
    dialect, files = recognise("x.jsonl", [tmp_path])
    assert (dialect.name, files) == ("failproof", [tmp_path / "x.jsonl"])


def test_a_file_of_no_dialect_is_an_error_that_says_what_to_set(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("nonsense")
    with pytest.raises(InvalidInput, match=r"name it, prompts\.dialect or --dialect"):
        recognise("x.txt", [tmp_path])


def test_options_of_a_dialect_that_has_none_are_an_error() -> None:
    dialect = dialect_named("failproof")
    assert configured(dialect, {}) is dialect
    with pytest.raises(InvalidInput, match="has no options") as raised:
        configured(dialect, {"template": []})
    assert [problem.field for problem in raised.value.problems] == ["prompts.options"]


def test_a_configuration_beside_the_cases_is_no_case_file_unless_it_is_named(
    folder: Path,
) -> None:
    (folder / "run.yaml").write_text("test_run: {name: x}\n")
    (folder / "out.json").write_text("{}")
    dialect, files = recognise(str(folder))
    assert (dialect.name, len(files)) == ("failproof", 3)
    named, _ = recognise(str(folder / "run.yaml"))
    assert ".yaml" in named.suffixes
    (folder / "only").mkdir()
    (folder / "run.yaml").rename(folder / "only" / "run.yaml")
    with pytest.raises(InvalidInput, match="no file looks like cases"):
        recognise(str(folder / "only"))
