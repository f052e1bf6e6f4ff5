"""Parameters of the fast set of tests, of the slow one, and of what only a search tries."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Any

import pytest
from _pytest.mark import ParameterSet


def slow_except(fast: Container[Any], values: Iterable[Any]) -> list[ParameterSet]:
    """Parameters of one value each, marked as slow unless they are in `fast`."""
    return _marked(pytest.mark.slow, fast, values)


def wide_except(narrow: Container[Any], values: Iterable[Any]) -> list[ParameterSet]:
    """The same, marked as wide unless they are in `narrow`."""
    return _marked(pytest.mark.wide, narrow, values)


def _marked(
    mark: pytest.MarkDecorator, without: Container[Any], values: Iterable[Any]
) -> list[ParameterSet]:
    return [pytest.param(value, marks=[] if value in without else [mark]) for value in values]
