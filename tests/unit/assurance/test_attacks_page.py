"""The page of attacks names every finding of a verification, and every window that a test shows."""

from __future__ import annotations

import re
from pathlib import Path

from failproof_es.assurance.checking import findings

ROOT = Path(__file__).parents[3]
REFERENCE = ROOT / "docs" / "reference"
PAGE = (REFERENCE / "attacks.md").read_text("utf-8")
ROLES = (REFERENCE / "roles.md").read_text("utf-8")
GUARANTEES = (ROOT / "docs" / "concepts" / "guarantees.md").read_text("utf-8")
WINDOW = re.compile(r"\btest_window_\w+")


def test_the_page_names_every_finding_and_no_other() -> None:
    constants = vars(findings).items()
    kinds = {kind for name, kind in constants if name.isupper() and isinstance(kind, str)}
    tables = "\n".join(line for line in PAGE.splitlines() if line.startswith("|"))
    assert set(re.findall(r"\*([^*]+)\*", tables)) == kinds


def test_the_pages_name_every_window_that_a_test_shows_and_no_other() -> None:
    shown = [
        name
        for file in sorted((ROOT / "tests").rglob("test_*.py"))
        for name in re.findall(r"^(?:async )?def (test_window_\w+)", file.read_text("utf-8"), re.M)
    ]
    assert sorted(WINDOW.findall(PAGE) + WINDOW.findall(ROLES)) == sorted(shown)


def test_every_test_that_a_promise_names_is_in_its_file() -> None:
    named = re.findall(r"`(?:([\w/]+\.py)::)?(test_\w+)`", GUARANTEES + PAGE)
    assert len(named) > 30
    for file, name in named:
        assert file, f"{name}: name its file"
        assert f"def {name}(" in (ROOT / "tests" / file).read_text("utf-8"), name
