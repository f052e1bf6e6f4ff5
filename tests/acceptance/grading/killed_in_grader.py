"""`python -m tests.acceptance.grading.killed_in_grader DIALECT METHOD ARGUMENTS...`: the program,
killed by SIGKILL inside a method of a dialect, wherever that runs, once there is a reply to read.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Sequence
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
    original = getattr(kind, method)

    def killing(self: Any, *arguments: Any) -> Any:
        if not _grading:
            return original(self, *arguments)
        os.kill(int(process), signal.SIGKILL)
        time.sleep(60)
        raise AssertionError("the program lives on")

    setattr(kind, method, killing)


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
