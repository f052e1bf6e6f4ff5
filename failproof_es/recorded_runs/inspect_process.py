"""Starts the program that reads an Inspect log, and reads the lines that it writes."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from failproof_es.problems import InvalidInput, Problem
from failproof_es.recorded_runs import inspect_program
from failproof_es.support.machine.json_lines_child import (
    ChildFailed,
    UnreadableLine,
    read_json_lines,
)

PYTHON = "FAILPROOF_ES_INSPECT_PYTHON"
"""The environment variable with the path of the Python that has Inspect installed."""
MEMORY = 8 * 2**30
"""Bytes of address space of the process that reads a log."""
MOST_LINE_BYTES = 2**28
"""The most bytes of one sample as JSON."""
_ABSENT = 4

Lines = Iterator[dict[str, Any]]


def read_lines(path: Path) -> Lines:
    """Yield the log as Inspect's own reader reads it: the header, each sample, and the end.

    Each line has one of the keys `header`, `sample` and `end`. Raises `InvalidInput` during the
    iteration if Inspect is not installed or cannot read the file, or if a sample is longer than
    `MOST_LINE_BYTES`.
    """
    python = os.environ.get(PYTHON) or sys.executable
    lines = read_json_lines(
        Path(inspect_program.__file__), [str(path.absolute())],
        memory=MEMORY, python=python, most_line_bytes=MOST_LINE_BYTES,
    )  # fmt: skip
    try:
        for line in lines:
            if not isinstance(line, dict):
                raise UnreadableLine("is no object")
            yield line
    except OSError as error:
        message = f"{python} can't be started: {error.strerror or error}"
        raise InvalidInput.because(
            "program-not-started", message, remedy=f"{PYTHON} names it: correct it"
        ) from None
    except UnreadableLine as error:
        remedy = "export the log without that sample, and import it again"
        raise InvalidInput(
            [Problem("file-unreadable", f"a sample {error}", path=path, remedy=remedy)]
        ) from None
    except ChildFailed as error:
        raise _unreadable(path, python, error) from None


def _unreadable(path: Path, python: str, error: ChildFailed) -> InvalidInput:
    if error.code == _ABSENT:
        return InvalidInput.because(
            "package-not-installed",
            f"Inspect, which reads its own logs, is not installed for {python}",
            remedy="pip install 'failproof-es[inspect]'; or install inspect-ai into an environment "
            f"of its own, and name its Python in {PYTHON}",
        )
    last = error.message
    if error.is_out_of_memory:
        last = f"it needs more than {MEMORY // 2**30} GiB of memory"
    return InvalidInput(
        [
            Problem(
                "file-unreadable",
                f"Inspect can't read this log: {last}",
                path=path,
                remedy="check that the file is whole; `inspect log dump` reads it, too",
            )
        ]
    )
