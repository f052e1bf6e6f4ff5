"""Garbage collection while a run is driven."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from failproof_es.engine.drive.python_tuning import freeze_objects, tuned_python


@pytest.fixture(autouse=True)
def frozen_again() -> Iterator[None]:
    yield
    gc.freeze()


@pytest.mark.parametrize("before", [True, False])
def test_what_the_program_froze_stays_frozen_after_a_run(before: bool) -> None:
    gc.unfreeze()
    if before:
        gc.freeze()
    with tuned_python():
        assert gc.get_freeze_count() > 0
    assert (gc.get_freeze_count() > 0) == before


def test_garbage_of_earlier_runs_is_collected_before_the_next_one() -> None:
    class Garbage:
        def __init__(self) -> None:
            self.itself = self

    def count() -> int:
        gc.unfreeze()
        return sum(type(one) is Garbage for one in gc.get_objects())

    gc.collect()
    Garbage()
    freeze_objects(collect=False)
    assert count() == 1
    freeze_objects(collect=True)
    assert count() == 0
