"""The errors of this library."""

from __future__ import annotations

from typing import Literal

Refusal = Literal[
    "empty", "too_long", "nul", "not_unicode", "only_comment", "syntax", "too_deep", "too_slow"
]
"""The reason why a text is not a command, for programs."""


class ShellAnalysisError(Exception):
    """The base class of this library's errors."""


class Unparseable(ShellAnalysisError):
    """The error for a text that is not a command. `code` is for programs, `reason` for people."""

    def __init__(self, reason: str, code: Refusal = "syntax") -> None:
        super().__init__(reason)
        self.reason = reason
        self.code: Refusal = code


class ProgramMissing(ShellAnalysisError):
    """`shfmt` or `shellcheck` is not installed. The message says what to install.

    `missing` is the message without the remedy.
    """

    remedy = "pip install 'failproof-es[commands]'"
    """The remedy, without the name of the missing program."""

    def __init__(self, program: str, searched: str) -> None:
        self.program = program
        self.missing = f"{program} is not installed: it is not in {searched}"
        super().__init__(f"{self.missing} ({self.remedy})")


class ProgramTooSlow(ShellAnalysisError):
    """The error for a program that was stopped at its time limit."""


class ProgramEnded(ShellAnalysisError):
    """The error for a program that ended without an answer: it was killed or failed."""
