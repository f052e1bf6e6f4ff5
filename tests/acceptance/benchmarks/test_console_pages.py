"""Every page of the console, measured."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.acceptance.benchmarks.quick import check_every_row

NAMES = ("console",)


@pytest.mark.slow
@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("name", NAMES)
def test_a_benchmark_measures_every_row(name: str, tmp_path: Path) -> None:
    check_every_row(name, tmp_path)
