"""Starts the program that reads an Inspect log, and reads the lines that it writes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from failproof_es.problems import InvalidInput, Problem
from failproof_es.recorded_runs import inspect_program

PYTHON = "FAILPROOF_ES_INSPECT_PYTHON"
"""The variable that names the Python in whose environment Inspect is installed."""
MOST_LINE_BYTES = 2**28
"""One sample takes no more than this as JSON."""
_ABSENT = 4
_MOST_SAID = 500

Lines = Iterator[dict[str, Any]]


def read_lines(path: Path) -> Lines:
    """What Inspect's own reader finds in the log: the header, then each sample.

    Raises `InvalidInput` while iterating where Inspect is not installed, cannot read the file,
    or where a sample is longer than `MOST_LINE_BYTES`.
    """
    python = os.environ.get(PYTHON) or sys.executable
    program = Path(inspect_program.__file__)
    with tempfile.TemporaryFile() as errors:
        try:
            process = subprocess.Popen(
                [python, "-I", str(program), str(path.absolute())],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors,
            )  # fmt: skip
        except OSError as error:
            said = f"{python} can't be started: {error.strerror or error}"
            raise InvalidInput.because(said, remedy=f"{PYTHON} names it: correct it") from None
        assert process.stdout is not None
        ended = False
        try:
            while raw := process.stdout.readline(MOST_LINE_BYTES + 1):
                line = _line(raw, path)
                ended = "end" in line
                yield line
            code = process.wait()
        finally:
            process.kill()
            process.wait()
            process.stdout.close()
        if code or not ended:
            errors.seek(0)
            said = errors.read().decode("utf-8", "replace").strip()
            raise _unreadable(path, python, code, said)


def _line(raw: bytes, path: Path) -> dict[str, Any]:
    if len(raw) > MOST_LINE_BYTES:
        raise InvalidInput(
            [
                Problem(
                    f"a sample takes more than {MOST_LINE_BYTES // 2**20} MiB as JSON",
                    path=path,
                    remedy="export the log without that sample, and import it again",
                )
            ]
        )
    try:
        line = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise InvalidInput([Problem(f"a sample can't be read: {error}", path=path)]) from None
    if not isinstance(line, dict):
        raise InvalidInput([Problem("a line of the reader is no object", path=path)])
    return line


def _unreadable(path: Path, python: str, code: int, said: str) -> InvalidInput:
    if code == _ABSENT:
        return InvalidInput.because(
            f"Inspect, which reads its own logs, is not installed for {python}",
            remedy="pip install 'failproof-es[inspect]'; or install inspect-ai into an environment "
            f"of its own, and name its Python in {PYTHON}",
        )
    last = said.splitlines()[-1][:_MOST_SAID] if said else f"it ended with code {code}"
    return InvalidInput(
        [
            Problem(
                f"Inspect can't read this log: {last}",
                path=path,
                remedy="check that the file is whole; `inspect log dump` reads it, too",
            )
        ]
    )
