"""Runs `shellcheck` over many commands in one process.

shellcheck reads files, so the commands are written to a temporary folder: as text, never
executable, under names that no command can know (a command that sources another file must
not find its neighbour). Settings of a command or of the machine have no effect: no rc file, no
environment; the caller must remove directives in comments.
"""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import orjson

from failproof_es.shell_analysis.errors import ProgramEnded, ProgramTooSlow
from failproof_es.shell_analysis.parse import programs
from failproof_es.shell_analysis.parse.batching import Batcher

_BATCH_SECONDS = 20.0
"""Wall-clock limit of a batch. After it each command is read alone, with the usual limit."""
_OPTIONS = ("--shell=sh", "--norc", "--format=json1", "--extended-analysis=false")


@dataclass(frozen=True, slots=True)
class ShellcheckRemark:
    """One remark of shellcheck on a command. `code` is its number without the letters `SC`."""

    code: int
    message: str


TOO_SLOW = ShellcheckRemark(0, "shellcheck took too long")
"""The only finding of a command on which shellcheck exceeds its time limit."""
ENDED = ShellcheckRemark(0, "shellcheck ended without a verdict")
"""The only finding of a command on which shellcheck crashes or is killed."""


def check(commands: Sequence[str]) -> list[tuple[ShellcheckRemark, ...]]:
    """The remarks on each command as a script for `sh`, in the commands' order.

    Raises `ProgramMissing` without `shellcheck`, and `UnicodeEncodeError` for text that is not
    Unicode.
    """
    if commands:
        programs.locate("shellcheck")  # a cached answer must not hide that the program is missing
    return _READER.ask(commands)


def tool_version() -> str:
    """Name and version of the program, such as `shellcheck-0.10.0`."""
    return f"shellcheck-{programs.version('shellcheck')}"


def _check_batch(commands: Sequence[str]) -> list[tuple[ShellcheckRemark, ...]]:
    """The remarks on each command, from one process for all; if that fails, from one for each."""
    if len(commands) > 1:
        try:
            return _run(commands, _BATCH_SECONDS)
        except (ProgramTooSlow, ProgramEnded):
            pass
    return [_check_alone(command) for command in commands]


def _check_alone(command: str) -> tuple[ShellcheckRemark, ...]:
    try:
        return _run([command])[0]
    except ProgramTooSlow:
        return (TOO_SLOW,)
    except ProgramEnded:
        return (ENDED,)


def _run(
    commands: Sequence[str], seconds: float | None = None
) -> list[tuple[ShellcheckRemark, ...]]:
    with tempfile.TemporaryDirectory(prefix="failproof-es-") as folder:
        names = [f"{secrets.token_hex(16)}.sh" for _ in commands]
        for name, command in zip(names, commands, strict=True):
            (Path(folder) / name).write_bytes(command.encode() + b"\n")
        done = programs.run("shellcheck", *_OPTIONS, *names, folder=Path(folder), seconds=seconds)
    if done.returncode not in (0, 1):
        raise ProgramEnded(f"shellcheck ended {done.returncode}")
    findings: dict[str, list[ShellcheckRemark]] = {name: [] for name in names}
    for comment in orjson.loads(done.stdout)["comments"]:
        if comment["file"] in findings:
            findings[comment["file"]].append(ShellcheckRemark(comment["code"], comment["message"]))
    return [tuple(findings[name]) for name in names]


def _size(findings: tuple[ShellcheckRemark, ...]) -> int | None:
    if findings in ((TOO_SLOW,), (ENDED,)):
        return None
    return sum(len(finding.message) for finding in findings)


_READER = Batcher(_check_batch, _size)
