"""Warns of cases that seem to hold a key: what they say is sent, and stays in the log."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from failproof_es.core.case import Case
from failproof_es.problems import Problem
from failproof_es.support.key_shapes import find_key

_MESSAGE = "a text that is sent has the shape of a key"
_REMEDY = "ignore this if it is made up; else replace it here, and at its vendor"


def key_warning(files: Sequence[Path], case: Case) -> Problem | None:
    """The warning of a case with a text that has the shape of a key; `None` without one.

    Its line is that of the key in the first of these files that holds it.
    """
    for turn in case.turns:
        if (key := find_key(turn.content)) is not None:
            path, line = _place_of(key, files)
            field = f"case {case.case_id}" if line is None else None
            return Problem(_MESSAGE, path, line, field, _REMEDY, "warning")
    return None


def _place_of(key: str, files: Sequence[Path]) -> tuple[Path | None, int | None]:
    """The file and the line that hold the key; the line is `None` if it is written otherwise."""
    for path in files:
        with path.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                if key.encode() in line:
                    return path, number
    return (files[0] if files else None), None
