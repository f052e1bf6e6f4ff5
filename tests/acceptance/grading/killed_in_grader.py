"""`python -m tests.acceptance.grading.killed_in_grader DIALECT METHOD ARGUMENTS...`: the program,
killed by SIGKILL inside a method of a dialect, wherever that runs, once there is a reply to read.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from inspect import getattr_static
from typing import Any

from failproof_es.dialects import dialect_named
from failproof_es.dialects.protocol import Dialect
from failproof_es.dialects.scorers import Scorer
from failproof_es.engine.drive.grading import grader, steps

_SEAM = "FAILPROOF_ES_TEST_KILLED_IN"
_grade_in_child = steps.take_steps_in_child
_take_steps = steps.take_steps
_grading = False
"""Whether a recorded answer is graded now: the checks before a run call a dialect, too."""


def grade_in_child(name: str, section: bytes, task: steps.Task) -> steps.Steps:
    """What a grading child calls: the same seam is laid there."""
    lay_seam()
    return _grade_in_child(name, section, task)


def take_steps(dialect: Dialect, scorers: Sequence[Scorer], task: steps.Task) -> steps.Steps:
    """Grades, and knows that it does."""
    global _grading
    _grading = bool(task.state.replies)
    try:
        return _take_steps(dialect, scorers, task)
    finally:
        _grading = False


def lay_seam() -> None:
    """Have the method kill the program."""
    vars(grader)["take_steps"] = vars(steps)["take_steps"] = take_steps
    name, method, process = os.environ[_SEAM].split()
    kind = type(dialect_named(name))
    setattr(kind, method, Killing(getattr_static(kind, method), int(process)))


class Killing:
    """In the place of a dialect's method, whether that is a function of it or of its module."""

    def __init__(self, original: Any, process: int) -> None:
        self._original, self._process = original, process

    def __get__(self, dialect: Dialect | None, kind: type[Dialect]) -> Callable[..., Any]:
        """The method as it is found, which kills once there is a reply to read."""
        method: Callable[..., Any] = self._original.__get__(dialect, kind)

        def killing(*arguments: Any) -> Any:
            if not _grading:
                return method(*arguments)
            os.kill(self._process, signal.SIGKILL)
            time.sleep(60)
            raise AssertionError("the program lives on")

        return killing


def main() -> None:
    from failproof_es.cli import main as program
    from tests.acceptance.grading import killed_in_grader

    name, method, *arguments = sys.argv[1:]
    os.environ[_SEAM] = f"{name} {method} {os.getpid()}"
    vars(grader)["take_steps_in_child"] = killed_in_grader.grade_in_child
    killed_in_grader.lay_seam()
    program(arguments)


if __name__ == "__main__":
    main()
