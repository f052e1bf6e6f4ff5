"""Every kind of interval covers the truth about as often as it says: a part of the whole grid.

`python -m tests.coverage` draws all of it; the table stands in `docs/reference/coverage.md`.
"""

from __future__ import annotations

from math import sqrt
from pathlib import Path

import pytest

from tests.coverage.setting import Setting
from tests.coverage.settings import grid
from tests.coverage.table import BEGIN, END, HIGHEST, LOWEST, method_of

DRAWS = 120
FEWER_DRAWS = 50
"""For numbers with labels, whose intervals take 20 ms each; 50 notice intervals of 85 %."""
WHAT = [
    what
    for what in dict.fromkeys(setting.what for setting in grid())
    if "labels" not in what or "100 labels" in what
]
CONSERVATIVE = (
    "difference of pass rates",
    "difference of pass rates, clusters",
    "difference of corrected rates, 100 labels each",
)
"""Above 97.5 % where few pairs differ: as the page says."""


def some(what: str) -> list[Setting]:
    """A few settings of one number, spread over its grid: of 20 to 60 clusters, or with labels."""
    found = [
        setting
        for setting in grid()
        if setting.what == what and (20 <= setting.clusters <= 60 or "labels" in what)
    ]
    return found[:: max(1, len(found) // 3)][:4]


@pytest.mark.long
@pytest.mark.parametrize("what", WHAT)
def test_intervals_cover_what_they_say(what: str) -> None:
    assert_covers(what, FEWER_DRAWS if "labels" in what else DRAWS)


@pytest.mark.wide
@pytest.mark.parametrize("what", [what for what in WHAT if "labels" in what])
def test_more_intervals_cover_what_they_say(what: str) -> None:
    assert_covers(what, DRAWS)


def assert_covers(what: str, draws: int) -> None:
    covering = printed = 0.0
    for setting in some(what):
        share, count = setting.coverage(draws, seed=7)
        covering, printed = covering + share * count, printed + count
        assert share > LOWEST - 3 * sqrt(LOWEST * (1 - LOWEST) / count) - 0.02, setting
    by_chance = 3 * sqrt(0.05 * 0.95 / printed)
    assert covering / printed > LOWEST - by_chance
    if what not in CONSERVATIVE and not what.startswith("latency, 95th"):
        assert covering / printed < HIGHEST + by_chance


def test_the_page_has_a_row_for_all_that_is_drawn() -> None:
    page = Path("docs/reference/coverage.md").read_text()
    table = page.split(BEGIN)[1].split(END)[0]
    rows = {tuple(row.split(" | ")[:4]) for row in table.splitlines() if row.startswith("| ")}
    for setting in grid():
        method = method_of(setting.what)
        size = setting.clusters * setting.size
        assert (f"| {setting.what}", method, f"{setting.clusters}", f"{size}") in rows
