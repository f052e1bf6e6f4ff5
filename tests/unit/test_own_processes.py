"""A process that the program starts imports nothing from the folder that somebody stands in."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = [
    path for folder in ("failproof_es", "projections") for path in (ROOT / folder).rglob("*.py")
]


def module_runs(path: Path) -> Iterator[list[str]]:
    """The first words after `sys.executable`, wherever it stands in a list of words."""
    if "executable" not in (source := path.read_text("utf-8")):
        return
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.List | ast.Tuple):
            words = list(map(ast.unparse, node.elts))
            if "sys.executable" in words:
                yield words[words.index("sys.executable") + 1 :]


@pytest.mark.slow
def test_every_module_that_is_run_is_found_without_the_current_folder() -> None:
    runs = [(path.name, words) for path in FILES for words in module_runs(path)]
    modules = [(name, words) for name, words in runs if "'-m'" in words]
    assert len(modules) >= 4
    safe = ("'-P'", "'-I'", "*safe")
    assert [(name, words) for name, words in modules if words[0] not in safe] == []
