"""A forked process ends as any other: nothing that it was to say or do at its end is left out."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.acceptance.warm import WarmProcess

ENDINGS = {
    "exit code": ("import sys\nsys.exit(7)", 7, ""),
    "no exit code": ("import sys\nsys.exit()", 0, ""),
    "more than a byte": ("import sys\nsys.exit(256 + 3)", 3, ""),
    "negative": ("import sys\nsys.exit(-1)", 255, ""),
    "falls off its end": ("print('said', end='')", 0, "said"),
    "what was not flushed": ("import sys\nprint('said', end='')\nsys.exit(7)", 7, "said"),
    "at exit": (
        "import atexit, sys\natexit.register(print, 'last', end='')\nsys.exit(7)", 7, "last",
    ),
    "a thread that still works": (
        "import sys, threading, time\n"
        "threading.Thread(target=lambda: (time.sleep(0.2), print('done', end=''))).start()\n"
        "sys.exit(7)", 7, "done",
    ),
    "a text instead of a code": ("import sys\nsys.exit('why')", 1, "why\n"),
    "an exception": ("1 / 0", 1, "ZeroDivisionError: division by zero\n"),
}  # fmt: skip


@pytest.fixture(scope="module")
def warm() -> WarmProcess:
    return WarmProcess(preloaded=("json",))


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_forked_process_ends_as_one_of_its_own(
    ending: str, warm: WarmProcess, tmp_path: Path
) -> None:
    program, code, said = ENDINGS[ending]
    (tmp_path / "program.py").write_text(program)
    variables = {"PATH": os.environ["PATH"]}
    with warm.begin([], variables, tmp_path, module="program", stdout=True, stderr=True) as process:
        out, err = process.communicate(60)
    assert process.returncode == code
    assert (out + err).decode().endswith(said)
    assert bool(out + err) == bool(said)


def test_a_reader_that_is_gone_is_told_of_at_the_end(warm: WarmProcess, tmp_path: Path) -> None:
    """As the interpreter does: with 120, because what it said is lost."""
    (tmp_path / "program.py").write_text(
        "import sys, time\ntime.sleep(0.3)\nprint('said')\nsys.exit(0)"
    )
    variables = {"PATH": os.environ["PATH"]}
    with warm.begin([], variables, tmp_path, module="program", stdout=True, stderr=True) as process:
        assert process.stdout is not None
        process.stdout.close()
        _, err = process.communicate(60)
    assert process.returncode == 120
    assert b"BrokenPipeError" in err
