"""Parameters of the fast set of tests, of the slow one, and of what only a search tries."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Sequence
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


def thin_variants(items: Iterable[pytest.Item]) -> None:
    """Mark the variants that the mark `thinned(fast, whole)` of their test leaves out.

    Of a test's parameters at most `fast` are in the fast set and `whole` in the whole set, evenly
    spread; the rest is wide. Parameters and tests that are marked by themselves keep their marks.
    """
    variants: defaultdict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if item.get_closest_marker("thinned") is not None:
            variants[item.nodeid.partition("[")[0]].append(item)
    for group in variants.values():
        mark = group[0].get_closest_marker("thinned")
        assert mark is not None
        whole = mark.kwargs["whole"]
        narrow = [item for item in group if item.get_closest_marker("wide") is None]
        quick = [item for item in narrow if item.get_closest_marker("slow") is None]
        fast = _spread(quick, mark.kwargs.get("fast", whole))
        rest = [item for item in narrow if item not in fast]
        slow = _spread(rest, whole - len(fast))
        for item in rest:
            item.add_marker(pytest.mark.slow if item in slow else pytest.mark.wide)


def _spread(items: Sequence[pytest.Item], most: int) -> list[pytest.Item]:
    """At most so many of them, evenly spread, the first among them."""
    count = min(most, len(items))
    return [items[place * len(items) // count] for place in range(count)]
