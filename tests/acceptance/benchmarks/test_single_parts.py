"""Single parts of the program, measured: its log, its ledger, its parsers, its reading."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.acceptance.benchmarks.quick import check_every_row
from tests.selection import wide_except

NAMES = (
    "log",
    "shell",
    "sending",
    "parts",
    "append",
    "ledger",
    "ledger-hashing",
    "reading",
)


@pytest.mark.slow
@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("name", wide_except(("append", "ledger", "log", "parts"), NAMES))
@pytest.mark.thinned(whole=1)
@pytest.mark.wide
def test_a_benchmark_measures_every_row(name: str, tmp_path: Path) -> None:
    check_every_row(name, tmp_path)
