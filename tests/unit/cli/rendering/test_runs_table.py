"""The table of `runs` shows a run's lowest pass rates where not all fit."""

from __future__ import annotations

from typing import Any

import pytest

from failproof_es.cli.commands.runs import describe_passed


def _row(model: str, passed: int, failed: int) -> dict[str, Any]:
    scored = passed + failed
    rate = passed / scored if scored else None
    return {"model": model, "passed": passed, "failed": failed, "rate": rate, "bounds": None}


GOOD, BAD, WORST, UNKNOWN = _row("g", 4, 0), _row("b", 2, 2), _row("w", 0, 4), _row("u", 0, 0)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ((GOOD, BAD), "g 4/4 (100.0%), b 2/4 (50.0%)"),
        ((GOOD, UNKNOWN, BAD, WORST), "w 0/4 (0.0%), b 2/4 (50.0%) and 2 more models"),
    ],
)
def test_the_lowest_rates_are_shown_where_not_all_fit(
    rows: tuple[dict[str, Any], ...], expected: str
) -> None:
    assert describe_passed(rows, ()) == expected
