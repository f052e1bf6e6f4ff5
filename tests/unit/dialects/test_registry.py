"""Dialects are found by name or by their files; case files by path, folder or glob."""

from __future__ import annotations

import errno
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from failproof_es.configuration.schema import Configuration
from failproof_es.dialects import (
    case_files,
    configured,
    dialect_named,
    names,
    package_of_dialect,
    recognise,
    refuse_other_dialects,
    registry,
)
from failproof_es.dialects.protocol import (
    WaitsForPrograms,
    joins_messages,
    people_can_judge,
    waits_for_programs,
)
from failproof_es.dialects.shipped.failproof import FailProof
from failproof_es.engine.identity import package_versions
from failproof_es.problems import InvalidInput, Problems
from tests.every import every
from tests.plugin_packages import install, look_again

Installed = Callable[..., None]

LINE = '{"case_id": "a", "suite_id": "s", "prompt": "?"}\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("b.jsonl", "a.jsonl", "sub/c.jsonl", "notes.md", ".hidden/d.jsonl"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(LINE)
    return tmp_path


def refuse(path: Path, **_: object) -> None:
    raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))


def found(paths: str | list[str], folder: Path) -> list[str]:
    files = case_files(paths, [".jsonl"], folder)
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


@every("paths", [".", "**/*.jsonl", "*", ["link", "."]])
def test_a_link_to_a_folder_is_followed_and_one_that_leads_back_ends(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, paths: str | list[str]
) -> None:
    other = tmp_path_factory.mktemp("other")
    (other / "e.jsonl").write_text(LINE)
    for name, target in (("link", other), ("sub/loop", folder), ("again", other)):
        if not (folder / name).is_symlink():
            (folder / name).symlink_to(target)
    files = case_files(paths, [".jsonl"], folder)
    assert sorted(file.name for file in files) == [f"{letter}.jsonl" for letter in "abce"]


def test_every_missing_path_and_empty_match_is_a_problem(folder: Path) -> None:
    (folder / "void").mkdir()
    with pytest.raises(InvalidInput) as raised:
        case_files(["none.jsonl", "void", "*.csv", "a.jsonl", ""], [".jsonl"], folder)
    fields = [problem.field for problem in raised.value.problems]
    assert fields == [f"prompts.path[{index}]" for index in (0, 1, 2, 4)]


def test_a_pipe_or_a_device_is_a_problem_and_is_not_opened(folder: Path) -> None:
    """A pipe would be waited for, a device may have no end, and neither can be read twice."""
    os.mkfifo(folder / "pipe.jsonl")
    with pytest.raises(InvalidInput) as raised:
        case_files([".", "/dev/zero"], [".jsonl"], folder)
    assert [problem.path for problem in raised.value.problems] == [
        folder / "pipe.jsonl", Path("/dev/zero")
    ]  # fmt: skip
    assert "no regular file" in str(raised.value)


@every(
    ("path", "code"),
    [
        ("~nobody-of-this-name/x.jsonl", "file-not-found"),
        ("~$cases.jsonl", "file-not-found"),
        ("x" * 300, "file-unreadable"),
        (LINE * 6, "file-unreadable"),
        ("a.jsonl/b.jsonl", "file-not-found"),
        ("loop.jsonl", "file-not-found"),
        ("gone", "file-not-found"),
    ],
)
def test_a_path_that_leads_nowhere_is_a_problem_of_its_field(
    folder: Path, path: str, code: str
) -> None:
    (folder / "loop.jsonl").unlink(missing_ok=True)
    (folder / "loop.jsonl").symlink_to("loop.jsonl")
    (folder / "gone").mkdir(exist_ok=True)
    (folder / "gone" / "link.jsonl").unlink(missing_ok=True)
    (folder / "gone" / "link.jsonl").symlink_to("nowhere.jsonl")
    with pytest.raises(InvalidInput) as raised:
        case_files(path, [".jsonl"], folder)
    [problem] = raised.value.problems
    assert (problem.code, problem.field) == (code, "prompts.path")
    assert ("link" in problem.message) == (path == "gone") and len(str(problem)) < 400


def test_a_folder_without_search_permission_is_a_problem(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "stat", refuse)  # root may search every folder
    for paths in ("a.jsonl", "*.jsonl"):
        with pytest.raises(InvalidInput, match="permission denied"):
            case_files(paths, [".jsonl"], folder)


def test_a_file_whose_name_no_record_can_hold_is_a_problem_that_one_can(folder: Path) -> None:
    (folder / os.fsdecode(b"odd\xff.jsonl")).touch()
    with pytest.raises(InvalidInput) as raised:
        case_files(".", [".jsonl"], folder)
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
        case_files("none.jsonl", [".jsonl"], here)


def test_an_unknown_dialect_gets_a_suggestion() -> None:
    assert dialect_named("failproof").name == "failproof"
    with pytest.raises(InvalidInput, match="did you mean 'failproof'"):
        dialect_named("failprof")


GROUP = registry.ENTRY_POINT_GROUP
THEIRS = """
from failproof_es.dialects.shipped.failproof import FailProof

class Theirs(FailProof):
    name = "theirs"

class Nameless(FailProof):
    pass

class Sick(FailProof):
    name = "sick"
    def recognises(self, path):
        raise ZeroDivisionError("no")
"""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Installed]:
    def package(name: str, offered: dict[str, str], **modules: str) -> None:
        install(monkeypatch, tmp_path / name, name, {GROUP: offered}, modules)

    yield package
    monkeypatch.undo()
    look_again()


def test_an_installed_package_brings_a_dialect_which_is_imported_when_it_is_named(
    installed: Installed,
) -> None:
    ours = names()
    installed("their-package", {"theirs": "their_dialect:Theirs"}, their_dialect=THEIRS)
    assert names() == [*ours, "theirs"]
    assert "their_dialect" not in sys.modules
    assert dialect_named("theirs").name == "theirs"
    assert package_of_dialect("theirs") == ("their-package", "1.0")
    assert package_of_dialect("failproof") is None
    configuration = Configuration.model_validate(
        {
            "test_run": {"name": "x"},
            "models": [{"provider": "local", "model": "smollm2"}],
            "prompts": {"path": "x"},
        }
    )
    assert package_versions(configuration, "theirs")["their-package"] == "1.0"


def test_a_broken_dialect_is_an_error_that_names_its_package(
    installed: Installed, folder: Path
) -> None:
    offered = {"broken": "nowhere:X", "other": "their_dialects:Nameless", "half": "sys:path"}
    installed("their-broken", offered, their_dialects=THEIRS)
    for name, said in (
        ("broken", r"'broken' of the package their-broken 1\.0 can't be loaded: ModuleNotFound"),
        ("other", r"their-broken 1\.0 calls itself 'failproof'"),
        ("half", r"their-broken 1\.0 lacks name, suffixes"),
    ):
        with pytest.raises(InvalidInput, match=said):
            dialect_named(name)
    with pytest.raises(InvalidInput, match=r"their-broken 1\.0"):
        recognise("a.jsonl", folder)
    problems = Problems()
    file = folder / "a.jsonl"
    assert refuse_other_dialects(dialect_named("promptguard"), [file], problems) == []
    assert "look like failproof cases" in str(problems.errors[0])


def test_two_packages_with_one_name_are_an_error_that_names_both(installed: Installed) -> None:
    installed("one-package", {"theirs": "one:Theirs", "failproof": "one:X"}, one=THEIRS)
    installed("two-package", {"theirs": "two:Theirs"}, two=THEIRS)
    with pytest.raises(InvalidInput, match=r"(?=.*one-package 1\.0)(?=.*two-package 1\.0)"):
        dialect_named("theirs")
    with pytest.raises(InvalidInput, match=r"(?=.*one-package 1\.0)(?=.*failproof-es)"):
        dialect_named("failproof")


def test_a_dialect_that_cannot_look_at_a_file_is_named(installed: Installed, folder: Path) -> None:
    installed("their-sick", {"sick": "sick_dialect:Sick"}, sick_dialect=THEIRS)
    with pytest.raises(InvalidInput, match=r"'sick' \(their-sick 1\.0\) can't look at .*a\.jsonl"):
        recognise("a.jsonl", folder)


def test_a_dialect_waits_for_others_only_where_it_says_so() -> None:
    class Hasty(FailProof):
        waits_for_programs = False
        judged_by_people = False
        joins_messages = False

    assert not joins_messages(Hasty()) and not joins_messages(FailProof())
    assert joins_messages(dialect_named("redteam"))
    assert not waits_for_programs(Hasty()) and not people_can_judge(Hasty())
    assert not waits_for_programs(FailProof()) and not people_can_judge(FailProof())
    assert waits_for_programs(dialect_named("command"))
    assert people_can_judge(dialect_named("redteam"))
    with pytest.raises(TypeError):  # it would see the name and not the value
        isinstance(Hasty(), WaitsForPrograms)  # type: ignore[misc]


def test_a_damaged_file_goes_to_the_first_dialect_of_its_suffix(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text("nonsense")
    dialect, files = recognise("x.jsonl", tmp_path)
    assert (dialect.name, files) == ("failproof", [tmp_path / "x.jsonl"])


def test_a_file_of_no_dialect_is_an_error_that_says_what_to_set(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("nonsense")
    with pytest.raises(InvalidInput, match=r"name it, prompts\.dialect or --dialect"):
        recognise("x.txt", tmp_path)


@every(
    "task",
    [
        "task_id: b",
        '- "task_id": b',
        "  - 'task_id' : b",
        "- {task_id: c, prompt: x}",
        "- {prompt: x, task_id: c}",
        '[{"prompt": "x", "task_id": "c"}]',
        '[\n  {\n    "task_id": "c"\n  }]',
        "- {prompt: x\n  , task_id: c}",
    ],
)
def test_a_task_is_recognised_in_every_notation_of_yaml(tmp_path: Path, task: str) -> None:
    (tmp_path / "a.yaml").write_text(task)
    assert recognise(str(tmp_path))[0].name == "benchmark"


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
    warnings = Problems()
    dialect, files = recognise(str(folder), warnings=warnings)
    assert (dialect.name, len(files)) == ("failproof", 3)
    assert [(warning.code, warning.path) for warning in warnings] == [
        ("file-skipped", folder / "out.json")
    ]
    named, _ = recognise(str(folder / "run.yaml"))
    assert ".yaml" in named.suffixes
    (folder / "only").mkdir()
    (folder / "run.yaml").rename(folder / "only" / "run.yaml")
    with pytest.raises(InvalidInput, match="no file looks like cases"):
        recognise(str(folder / "only"))


def test_a_dialect_says_which_commands_take_it_unless_told_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = [registry.default_dialect(each) for each in ("suites new", "prompts import")]
    assert found == ["redteam", "promptguard"]
    monkeypatch.setattr(FailProof, "default_for", frozenset({"suites new"}), raising=False)
    assert registry.default_dialect("suites new") == "failproof", "the first of ours"
    monkeypatch.undo()
    monkeypatch.setattr(registry, "names", lambda: ["failproof", "command"])
    with pytest.raises(InvalidInput, match=r"no dialect is meant for `suites new`.*failproof"):
        registry.default_dialect("suites new")
