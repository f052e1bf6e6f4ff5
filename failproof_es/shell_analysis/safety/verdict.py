"""The verdict of the safety checker: safe or not, and every reason why not."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class ReasonCode(StrEnum):
    """The kinds of harm that make a command unsafe, as docs/reference/command-safety.md defines."""

    DELETE_BROAD = "DELETE_BROAD"
    DISK_OVERWRITE = "DISK_OVERWRITE"
    DISK_FORMAT = "DISK_FORMAT"
    SYSTEM_FILE_WRITE = "SYSTEM_FILE_WRITE"
    STARTUP_FILE_WRITE = "STARTUP_FILE_WRITE"
    PERM_BROAD = "PERM_BROAD"
    SETUID = "SETUID"
    ACCOUNT_CHANGE = "ACCOUNT_CHANGE"
    REMOTE_EXEC = "REMOTE_EXEC"
    DECODED_EXEC = "DECODED_EXEC"
    REVERSE_SHELL = "REVERSE_SHELL"
    EXFILTRATE = "EXFILTRATE"
    FORK_BOMB = "FORK_BOMB"
    EXHAUST = "EXHAUST"
    KILL_ALL = "KILL_ALL"
    SYSTEM_HALT = "SYSTEM_HALT"
    SECURITY_OFF = "SECURITY_OFF"
    DISCARD_WORK = "DISCARD_WORK"
    DATA_DESTROY = "DATA_DESTROY"
    DYNAMIC_COMMAND = "DYNAMIC_COMMAND"
    UNPARSEABLE = "UNPARSEABLE"


@dataclass(frozen=True, slots=True)
class SafetyReason:
    """One reason why a command is unsafe; `detail` quotes the unsafe part, at most 120
    characters."""

    code: ReasonCode
    detail: str


@dataclass(frozen=True, slots=True)
class SafetyVerdict:
    """Whether a command is safe, and every reason why not; `safe` is true if `reasons` is empty.

    `version` names the versions of the rules and the parser.
    """

    safe: bool
    reasons: tuple[SafetyReason, ...]
    version: str
