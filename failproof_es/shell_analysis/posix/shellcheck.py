"""Runs `shellcheck` over many commands in one process.

shellcheck reads files, so the commands are written to a temporary folder: as text, never
executable, under names that no command can know (a command that sources another file must
not find its neighbour). Settings a command or this machine brings are kept away: no rc
file, no environment; directives in comments are the caller's to remove.
"""

from __future__ import annotations

import os
import secrets
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import orjson

from failproof_es.shell_analysis.errors import ProgramTooSlow
from failproof_es.shell_analysis.parse import programs

_BATCH = 200
_OPTIONS = ("--shell=sh", "--norc", "--format=json1", "--extended-analysis=false")


@dataclass(frozen=True, slots=True)
class Finding:
    """One remark. `code` is shellcheck's number without the letters."""

    code: int
    message: str


TOO_SLOW = Finding(0, "shellcheck took too long")
"""The only finding of a command that shellcheck did not get through in its time."""


def check(commands: Sequence[str]) -> list[tuple[Finding, ...]]:
    """The remarks on each command as a script for `sh`, in the commands' order.

    Raises `ProgramMissing`, and `UnicodeEncodeError` for text that is not Unicode.
    """
    batches = [commands[at : at + _BATCH] for at in range(0, len(commands), _BATCH)]
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        return list(chain.from_iterable(pool.map(_check_batch, batches)))


def tool_version() -> str:
    """Which shellcheck judges, such as `shellcheck-0.10.0`."""
    return f"shellcheck-{programs.version('shellcheck')}"


def _check_batch(commands: Sequence[str]) -> list[tuple[Finding, ...]]:
    """One process for all; the slow one among them is found by halving."""
    try:
        return _run(commands)
    except ProgramTooSlow:
        if len(commands) == 1:
            return [(TOO_SLOW,)]
        half = len(commands) // 2
        return _check_batch(commands[:half]) + _check_batch(commands[half:])


def _run(commands: Sequence[str]) -> list[tuple[Finding, ...]]:
    with tempfile.TemporaryDirectory(prefix="failproof-es-") as folder:
        names = [f"{secrets.token_hex(16)}.sh" for _ in commands]
        for name, command in zip(names, commands, strict=True):
            (Path(folder) / name).write_bytes(command.encode() + b"\n")
        done = programs.run("shellcheck", *_OPTIONS, *names, folder=Path(folder))
    found: dict[str, list[Finding]] = {name: [] for name in names}
    for comment in orjson.loads(done.stdout)["comments"]:
        if comment["file"] in found:
            found[comment["file"]].append(Finding(comment["code"], comment["message"]))
    return [tuple(found[name]) for name in names]
