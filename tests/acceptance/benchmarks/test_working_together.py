"""Several workers, live viewers and projections that follow, measured."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.acceptance.benchmarks.quick import check_every_row
from tests.selection import wide_except

NAMES = (
    "workers",
    "coordinating",
    "viewers",
    "live",
    "following",
)


@pytest.mark.slow
@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("name", wide_except(("following", "live"), NAMES))
@pytest.mark.thinned(whole=1)
@pytest.mark.wide
def test_a_benchmark_measures_every_row(name: str, tmp_path: Path) -> None:
    check_every_row(name, tmp_path)
