"""Where a case stands in its file, and names of files that lead nowhere."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from failproof_es.events import SuiteSnapshot
from failproof_es.exports.file_names import file_name
from failproof_es.exports.suite_places import SuitePlace, SuitePlaces


def suite(path: Path, content: str) -> SuiteSnapshot:
    path.write_text(content)
    digest = hashlib.sha256(content.encode()).hexdigest()
    return SuiteSnapshot(path=str(path), sha256=digest, dialect="failproof", cases=1)


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ('{"prompt": "x"}\n{"case_id": "a\\u0062", "suite_id": "s"}\n', 2),
        ("cases:\n  - id: ab\n    prompt: x\n", 2),
        ('[[cases]]\nname = "x"\nid = "ab"  # the first\n', 3),
        ("- id: 'ab'\n", 1),
        ('{"case_id": "other"}\n', None),
    ],
)
def test_the_line_of_a_case_is_found_in_every_format(
    tmp_path: Path, content: str, line: int | None
) -> None:
    recorded = suite(tmp_path / "suite", content)
    assert SuitePlaces([recorded]).of("ab") == SuitePlace(recorded.path, line)


def test_the_address_of_a_file_is_relative_below_the_current_folder_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for path, uri in (
        (str(Path.cwd() / "a b/s.jsonl"), "a%20b/s.jsonl"),
        ("a:b.jsonl", "a%3Ab.jsonl"),
        ("/elsewhere/é.jsonl", "file:///elsewhere/%C3%A9.jsonl"),
    ):
        assert SuitePlace(path, 1).uri == uri


def test_a_changed_file_has_no_lines_and_two_files_with_one_id_no_place(tmp_path: Path) -> None:
    first = suite(tmp_path / "a", '{"id": "x"}\n{"id": "y"}\n')
    second = suite(tmp_path / "b", '{"id": "x"}\n')
    both = SuitePlaces([first, second])
    assert both.of("x") is None and both.of("y") == SuitePlace(first.path, 2)
    Path(first.path).write_text('\n{"id": "y"}\n')
    assert SuitePlaces([first, second]).of("y") is None
    assert SuitePlaces([first]).of("y") == SuitePlace(first.path, None)
    Path(first.path).unlink()
    assert SuitePlaces([first]).of("y") == SuitePlace(first.path, None)


@pytest.mark.parametrize(
    ("named", "safe"),
    [
        ("gpt-4o", "gpt-4o"), ("../../etc", "etc"), ("", "unnamed"), ("..", "unnamed"),
        ("a/b\x00c", "a-b-c"), ("data", "data_"), ("CON.txt", "CON.txt_"), ("x" * 99, "x" * 80),
    ],
)  # fmt: skip
def test_a_name_leads_nowhere(named: str, safe: str) -> None:
    assert file_name(named) == safe
