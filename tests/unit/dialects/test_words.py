"""The engine, its store, gates, configuration and projections know no dialect's words."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import failproof_es
from failproof_es.declared_gates import DECLARED

ROOT = Path(failproof_es.__file__).parents[1]
ROOMS = (
    *("failproof_es/engine", "failproof_es/store", "failproof_es/configuration"),
    *(
        "failproof_es/gates.py",
        "failproof_es/core/tally.py",
        "failproof_es/core/run.py",
        "projections",
    ),
)
WORDS = {
    *("promptguard", "redteam", "command", "benchmark", "correctness", "posix", "safety"),
    *("must_do", "must_not_do", "evaluation_score", "reciprocal"),
}
KNOWN = {
    "failproof_es/store/schema/migration.py": {"promptguard"},  # the schema of its views
    # In which dialect the cases of other tools are written, and what a new project says of one.
    "failproof_es/engine/imported_cases.py": {"benchmark", "redteam"},
    "failproof_es/engine/planning/new_project.py": {"benchmark", "redteam"},
    "failproof_es/engine/planning/pipeline.py": {"command", "redteam"},
}
"""What is left to be moved."""


def texts(file: Path) -> Iterator[str]:
    """The constants of a module that are texts, without its docstrings."""
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


@pytest.mark.long
def test_no_dialects_word_stands_outside_the_dialects() -> None:
    words = WORDS | {name for name in DECLARED.names() if DECLARED.is_ours(name)}
    found: dict[str, set[str]] = {}
    for room in ROOMS:
        at = ROOT / room
        for file in [at] if at.suffix else sorted(at.rglob("*.py")):
            if said := words & set(texts(file)):
                found[file.relative_to(ROOT).as_posix()] = said
    assert found == KNOWN
