"""`python -m tests.acceptance.faults.killed_in_grader DIALECT METHOD ARGUMENTS...`: the program,
killed by SIGKILL inside a method of a dialect, wherever that runs, once there is a reply to read.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from typing import Any

from failproof_es.core.evaluation import Transcript
from failproof_es.dialects import dialect_named
from failproof_es.engine.drive import grading

_SEAM = "FAILPROOF_ES_TEST_KILLED_IN"
_take_steps = grading._take_steps


def take_steps(name: str, section: bytes, task: grading.Task) -> grading.Steps:
    """What a grading child calls: the same seam is laid there."""
    lay_seam()
    return _take_steps(name, section, task)


def lay_seam() -> None:
    """Have the method kill the program."""
    name, method, process = os.environ[_SEAM].split()
    kind = type(dialect_named(name))
    original = getattr(kind, method)

    def killing(self: Any, *arguments: Any) -> Any:
        replies = [given.replies for given in arguments if isinstance(given, Transcript)]
        if replies and not replies[0]:
            return original(self, *arguments)
        os.kill(int(process), signal.SIGKILL)
        time.sleep(60)
        raise AssertionError("the program lives on")

    setattr(kind, method, killing)


def main() -> None:
    from failproof_es.cli import main as program
    from tests.acceptance.faults import killed_in_grader

    name, method, *arguments = sys.argv[1:]
    os.environ[_SEAM] = f"{name} {method} {os.getpid()}"
    grading._take_steps = killed_in_grader.take_steps
    lay_seam()
    program(arguments)


if __name__ == "__main__":
    main()
