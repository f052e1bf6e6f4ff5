"""Garbage collection between the runs that one process drives."""

from __future__ import annotations

import gc

from failproof_es.engine.drive.python_tuning import freeze_objects


class Garbage:
    def __init__(self) -> None:
        self.itself = self


def test_garbage_of_earlier_runs_is_collected_before_the_next_one() -> None:
    def count() -> int:
        return sum(type(one) is Garbage for one in gc.get_objects())

    gc.disable()
    try:
        Garbage()
        freeze_objects(collect=False)
        assert count() == 1
        freeze_objects(collect=True)
        assert count() == 0
    finally:
        gc.enable()
