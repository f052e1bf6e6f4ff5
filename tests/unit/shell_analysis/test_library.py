"""The shell checkers are a library of their own: what they import, when, and what they lack."""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

import pytest

from failproof_es import shell_analysis
from failproof_es.shell_analysis import ProgramMissing, ShellAnalysisError, Unparseable
from failproof_es.shell_analysis.parse import programs, shell

ROOT = Path(shell_analysis.__file__).parent
NAME = shell_analysis.__name__


@pytest.fixture
def without_programs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """The programs are gone since the first of them said its version."""
    monkeypatch.setattr(shell, "tool_version", lambda: "shfmt-1.0")
    monkeypatch.setattr(programs, "_folders", lambda: [tmp_path / "nowhere"])
    programs.locate.cache_clear()
    yield
    programs.locate.cache_clear()


def imported(module: Path) -> Iterator[str]:
    """What a module imports, wherever in it."""
    for node in ast.walk(ast.parse(module.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level
            yield node.module or ""


def test_the_library_imports_nothing_else_of_ours_and_one_package_of_others() -> None:
    others = {
        name
        for module in ROOT.rglob("*.py")
        for name in imported(module)
        if name.partition(".")[0] not in sys.stdlib_module_names and not name.startswith(NAME)
    }
    assert others == {"orjson"}


def test_every_public_name_is_there_and_no_other() -> None:
    for name in shell_analysis.__all__:
        assert getattr(shell_analysis, name) is not None
        assert name in dir(shell_analysis)
    with pytest.raises(AttributeError, match="judge_taste"):
        _ = shell_analysis.judge_taste  # type: ignore[attr-defined]


def test_every_error_has_the_same_base() -> None:
    assert issubclass(Unparseable, ShellAnalysisError)
    assert issubclass(ProgramMissing, ShellAnalysisError)


@pytest.mark.usefixtures("without_programs")
@pytest.mark.parametrize(
    "call", ["parse_command", "check_posix", "judge_safety", "require_programs"]
)
def test_without_its_programs_a_call_says_what_to_install(call: str) -> None:
    arguments = () if call == "require_programs" else (f"echo never read before by {call}",)
    with pytest.raises(ProgramMissing, match=r"shfmt .*failproof-es\[commands\]") as missing:
        getattr(shell_analysis, call)(*arguments)
    assert missing.value.program == "shfmt"
    assert missing.value.remedy == "pip install 'failproof-es[commands]'"


@pytest.mark.usefixtures("without_programs")
def test_text_that_no_program_is_asked_about_is_refused_without_it_too() -> None:
    with pytest.raises(Unparseable, match="no command"):
        shell_analysis.parse_command(" ")


@pytest.mark.parametrize(
    ("package", "file"),
    [
        ("parse", "option_table.json"),
        ("parse", "utilities.toml"),
        ("safety.wrapping", "wrappers.toml"),
    ],
)
def test_each_table_stands_beside_the_code_that_reads_it(package: str, file: str) -> None:
    part = importlib.import_module(f"{NAME}.{package}")
    assert resources.files(part).joinpath(file).read_text("utf-8")
