"""Whole commands, measured: runs, their start, large ones, and those of other programs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.acceptance.benchmarks.quick import check_every_row
from tests.selection import wide_except

NAMES = (
    "whole",
    "memory-100000",
    "memory-1000000",
    "large",
    "starting",
    "peers",
    "reply-8k",
    "reply-8k-streamed",
    "reply-256k",
    "reply-256k-streamed",
    "connections-500",
)


@pytest.mark.slow
@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("name", wide_except(("whole", "reply-8k-streamed"), NAMES))
@pytest.mark.thinned(whole=1)
def test_a_benchmark_measures_every_row(name: str, tmp_path: Path) -> None:
    check_every_row(name, tmp_path)
