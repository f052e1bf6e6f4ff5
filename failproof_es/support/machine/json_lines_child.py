"""Runs a program on an untrusted file, with limited memory, and yields its lines of JSON."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from failproof_es.support.machine import limited_program
from failproof_es.support.machine.limited_program import OUT_OF_MEMORY

MOST_LINE_BYTES = 2**28
"""Maximum length of a line, in bytes."""
_MOST_SAID = 500
_SINGLE = {"OMP_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "2", "ARROW_DEFAULT_MEMORY_POOL": "system"}
"""Environment that keeps libraries from reserving memory for each thread."""


class ChildFailed(Exception):
    """The program ended with an error, or before its last line.

    `code` is its exit code, negative for a signal; `message` the last line of its error output.
    """

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message

    @property
    def is_out_of_memory(self) -> bool:
        """Whether the program exceeded its memory limit."""
        return self.code == OUT_OF_MEMORY


class UnreadableLine(Exception):
    """A line of the program's output is too long, or is not JSON."""


def read_json_lines(
    program: Path,
    arguments: Sequence[str],
    *,
    memory: int,
    python: str = sys.executable,
    most_line_bytes: int = MOST_LINE_BYTES,
) -> Iterator[Any]:
    """Run a Python program; yield the values that it prints, a line of JSON each.

    The last value is `{"end": COUNT}`, which is yielded too. `memory` limits the program's address
    space, in bytes. Raises `OSError` if `python` cannot be started and, while iterating,
    `ChildFailed` if the program fails or ends early, and `UnreadableLine`. Closing the iterator
    ends the program.
    """
    wrapper = str(Path(limited_program.__file__))
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            [python, "-I", wrapper, str(memory), str(program), *arguments],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors,
            env={**os.environ, **_SINGLE},
        )  # fmt: skip
        assert process.stdout is not None
        value: Any = None
        try:
            while raw := process.stdout.readline(most_line_bytes + 1):
                value = _value(raw, most_line_bytes)
                yield value
            code = process.wait()
        finally:
            process.kill()
            process.wait()
            process.stdout.close()
        if code or not (isinstance(value, dict) and "end" in value):
            errors.seek(0)
            lines = errors.read().decode("utf-8", "replace").strip().splitlines()
            raise ChildFailed(
                code, lines[-1][:_MOST_SAID] if lines else f"it ended with code {code}"
            )


def _value(raw: bytes, most_line_bytes: int) -> Any:
    if len(raw) > most_line_bytes:
        raise UnreadableLine(f"takes more than {most_line_bytes // 2**20} MiB as JSON")
    try:
        return json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise UnreadableLine(f"can't be read: {error}") from None
