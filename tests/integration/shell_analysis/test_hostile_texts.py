"""Text that is made to take long is judged in a moment, and what hides in it is not safe."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from failproof_es.shell_analysis.safety import judge_safety

_SECONDS = 4
"""Of processor time; the slowest takes less than one on an idle machine."""

DOUBLING = {
    "a variable": "a=x; " + "a=$a$a; " * 60 + 'echo "$a"',
    "in quotes": "a=x; " + 'a="$a$a"; ' * 60 + 'echo "$a"',
    "in turns": "a=x; " + "b=$a$a; a=$b$b; " * 60 + "eval $a",
    "appended": "a=x; " + "a+=$a; " * 60 + 'echo "$a"',
    "positional": "set -- x; " + "set -- $@ $@; " * 60 + "echo $@",
    "substituted": "a=x; " + "a=$(echo $a$a); " * 60 + 'echo "$a"',
    "options nobody knows": "env " + "-z x " * 700 + "rm",
}


def _processor_time() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


@pytest.fixture
def _in_a_moment() -> Iterator[None]:
    began = _processor_time()
    yield
    assert _processor_time() - began < _SECONDS


@pytest.mark.usefixtures("_in_a_moment")
@pytest.mark.parametrize("command", DOUBLING.values(), ids=DOUBLING)
def test_what_doubles_without_end_is_given_up_and_not_safe(command: str) -> None:
    assert not judge_safety(command).safe


@pytest.mark.usefixtures("_in_a_moment")
def test_what_grows_a_little_is_read() -> None:
    assert judge_safety("a=x; " + "a=$a$a; " * 4 + 'echo "$a"').safe
    assert not judge_safety("a=/; " + "b=$a; a=$b; " * 20 + 'rm -rf "$a"').safe
