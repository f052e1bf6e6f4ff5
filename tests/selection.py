"""Parameters of the fast set of tests, and those of the slow one."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Any

import pytest
from _pytest.mark import ParameterSet


def slow_except(fast: Container[Any], values: Iterable[Any]) -> list[ParameterSet]:
    """Parameters of one value each, marked as slow unless they are in `fast`."""
    return [
        pytest.param(value, marks=[] if value in fast else [pytest.mark.slow]) for value in values
    ]
