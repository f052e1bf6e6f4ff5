"""Warns of cases that seem to hold a key, and of cases that pass more easily than in their source.

The text of a case is sent, and stays in the log.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from failproof_es.core.case import PARTLY_IMPORTED, Case
from failproof_es.problems import Problem
from failproof_es.support.key_shapes import find_key
from failproof_es.support.plurals import plural

_MOST_PLACES = 20
"""Number of cases whose place is looked up, each by reading its files again."""
_MESSAGE = "a text that is sent has the shape of a key"
_REMEDY = "ignore this if it is made up; else replace it here, and at its vendor"


class CaseWarnings:
    """Finds cases with a text that has the shape of a key, and partly imported ones. Pass every
    case to `add`."""

    def __init__(self) -> None:
        self._warnings: list[Problem] = []
        self._more = self._partly_imported = 0

    def add(self, files: Sequence[Path], case: Case) -> None:
        """Check the next case, which is in one of these files."""
        self._partly_imported += case.is_partly_imported
        key = next(filter(None, (find_key(turn.content) for turn in case.turns)), None)
        if key is None:
            return
        if len(self._warnings) == _MOST_PLACES:
            self._more += 1
            return
        path, line = _place_of(key, files)
        field = f"case {case.case_id}"
        self._warnings.append(
            Problem("key-exposed", _MESSAGE, path, line, field, _REMEDY, "warning")
        )

    def warnings(self) -> Iterator[Problem]:
        """A warning for each of the first cases with a key, and one for all others; one for all
        that are partly imported. Call it after the last `add`.

        A line is that of the key in the first file that holds it.
        """
        yield from self._warnings
        if self._more:
            more = plural(self._more, "more case")
            yield Problem("key-exposed", f"{more}: {_MESSAGE}", remedy=_REMEDY, severity="warning")
        if self._partly_imported:
            yield Problem(
                "partly-imported",
                f"{plural(self._partly_imported, 'case')} can pass though an expectation of the "
                "source is not met",
                remedy=f"see the results with `--tag {PARTLY_IMPORTED}`, or add what is missing",
                severity="warning",
            )


def _place_of(key: str, files: Sequence[Path]) -> tuple[Path | None, int | None]:
    """The file and the line that hold the key; the line is `None` if it is written otherwise."""
    for path in files:
        with path.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                if key.encode() in line:
                    return path, number
    return (files[0] if len(files) == 1 else None), None
