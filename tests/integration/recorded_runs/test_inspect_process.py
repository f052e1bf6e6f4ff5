"""What the program beside writes is read within bounds, and its failures are said."""

from __future__ import annotations

from pathlib import Path

import pytest

from failproof_es.problems import InvalidInput
from failproof_es.recorded_runs import inspect_process
from failproof_es.recorded_runs.inspect_process import PYTHON, read_lines
from failproof_es.recorded_runs.kinds import READERS


@pytest.fixture
def speaking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program in Inspect's place; what stands in the file is its shell script."""
    program = tmp_path / "python"
    monkeypatch.setenv(PYTHON, str(program))
    return program


def says(program: Path, script: str) -> None:
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o700)


def read(path: Path) -> list[dict[str, object]]:
    return list(read_lines(path))


def test_its_lines_come_one_by_one(speaking: Path) -> None:
    says(speaking, """echo '{"header": {}}'; echo '{"end": 0}'""")
    assert read(Path("a.eval")) == [{"header": {}}, {"end": 0}]


@pytest.mark.parametrize(
    ("script", "pattern"),
    [
        ("exit 4", r"\[package-not-installed\]"),
        ("echo 'BadZipFile: no zip' >&2; exit 3", r"BadZipFile: no zip.*\[file-unreadable\]"),
        ("""echo '{"header": {}}'; kill -9 $$""", r"code -9.*\[file-unreadable\]"),
        ("""echo '{"header": {}}'""", r"code 0.*\[file-unreadable\]"),
        ("echo '{'", "a sample can't be read"),
        ("echo '[1]'", "is no object"),
        ("head -c 200 /dev/zero | tr '\\0' x; sleep 60", "takes more than"),
    ],
)
def test_what_goes_wrong_there_is_bad_input_here(
    speaking: Path, monkeypatch: pytest.MonkeyPatch, script: str, pattern: str
) -> None:
    monkeypatch.setattr(inspect_process, "MOST_LINE_BYTES", 100)
    says(speaking, script)
    with pytest.raises(InvalidInput, match=pattern):
        read(Path("a.eval"))


def test_a_python_that_is_not_there_is_named(speaking: Path) -> None:
    with pytest.raises(InvalidInput, match=r"\[program-not-started\]"):
        read(Path("a.eval"))


def test_a_log_that_is_not_there_is_said_before_anything_is_started(tmp_path: Path) -> None:
    for kind, reader in READERS.items():
        with pytest.raises(InvalidInput, match=r"\[file-not-found\]"):
            reader(tmp_path / f"{kind}.jsonl")
