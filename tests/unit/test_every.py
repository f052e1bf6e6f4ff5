"""A test of many cases fails with each case that fails, and is given its fixtures."""

from __future__ import annotations

import inspect

import pytest

from tests.every import every


@every("factor", [1, pytest.param(2, id="twice")])
@every(("number", "product"), [(1, 1), (2, 4), (3, 9)])
def _multiply(factor: int, number: int, product: int, asked: list[tuple[int, int]]) -> None:
    asked.append((factor, number))
    assert factor * number == product


def test_every_case_is_run_and_every_one_that_fails_is_named() -> None:
    asked: list[tuple[int, int]] = []
    with pytest.raises(BaseExceptionGroup) as failed:
        _multiply(asked=asked)
    assert asked == [(1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (2, 3)]
    once, twice = failed.value.exceptions
    assert (once.__notes__, twice.__notes__) == (["case: {'factor': 1}"], ["case: twice"])
    assert isinstance(once, BaseExceptionGroup) and isinstance(twice, BaseExceptionGroup)
    assert [error.__notes__ for error in once.exceptions] == [
        ["case: {'number': 2, 'product': 4}"],
        ["case: {'number': 3, 'product': 9}"],
    ]
    assert len(twice.exceptions) == 2


def test_pytest_is_asked_for_the_fixtures_alone() -> None:
    assert list(inspect.signature(_multiply).parameters) == ["asked"]
