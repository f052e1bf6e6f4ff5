"""Every package says in one sentence what it is for."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES = ("failproof_es", "projections", "tests", "tools")


def modules() -> list[Path]:
    return [
        path.relative_to(ROOT)
        for source in SOURCES
        for path in (ROOT / source).rglob("*.py")
        if "__pycache__" not in path.parts
    ]


def test_every_package_says_what_it_is_for() -> None:
    silent = [
        str(each)
        for each in modules()
        if each.name == "__init__.py"
        and each.parts[0] != "tests"
        and not ast.get_docstring(ast.parse((ROOT / each).read_text()))
    ]
    assert silent == []
