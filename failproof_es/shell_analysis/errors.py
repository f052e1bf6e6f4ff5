"""The errors of this library."""

from __future__ import annotations

from typing import Literal

Refusal = Literal[
    "empty", "too_long", "nul", "not_unicode", "only_comment", "syntax", "too_deep", "too_slow"
]
"""Why a text is no command, for programs."""


class ShellAnalysisError(Exception):
    """The base of every error here."""


class Unparseable(ShellAnalysisError):
    """The text is not a command. `code` is for programs, `reason` for people."""

    def __init__(self, reason: str, code: Refusal = "syntax") -> None:
        super().__init__(reason)
        self.reason = reason
        self.code: Refusal = code


class ProgramMissing(ShellAnalysisError):
    """A program that reads shell for us is not installed. The message says what to install."""

    remedy = "pip install 'failproof-es[commands]'"
    """What to do about it, without what is missing."""

    def __init__(self, program: str, searched: str) -> None:
        self.program = program
        self.missing = f"{program} is not installed: it is not in {searched}"
        super().__init__(f"{self.missing} ({self.remedy})")


class ProgramTooSlow(ShellAnalysisError):
    """A program was stopped because its time was over."""


class ProgramEnded(ShellAnalysisError):
    """A program ended without an answer: it was killed, or could go no further."""
