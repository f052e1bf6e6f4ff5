"""Judges whether a command is safe: applies every rule to every command in it.

No command is run. The rules follow the policy in docs/reference/command-safety.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from failproof_es.shell_analysis.parse import shell
from failproof_es.shell_analysis.parse.batching import answer_in_parts
from failproof_es.shell_analysis.safety.commands import ShellCommand
from failproof_es.shell_analysis.safety.reader import CommandReader
from failproof_es.shell_analysis.safety.rules.data_stores import destroys_data, destroys_packages
from failproof_es.shell_analysis.safety.rules.deletion import deletes_broadly, discards_work
from failproof_es.shell_analysis.safety.rules.disks import formats_disk, overwrites_disk
from failproof_es.shell_analysis.safety.rules.emptying import empties_broadly
from failproof_es.shell_analysis.safety.rules.execution import (
    runs_unknown_code,
    runs_unknown_program,
)
from failproof_es.shell_analysis.safety.rules.foreign_code import does_harm_itself
from failproof_es.shell_analysis.safety.rules.network import opens_reverse_shell, sends_secrets
from failproof_es.shell_analysis.safety.rules.permissions import (
    changes_accounts,
    grants_root,
    opens_rights,
)
from failproof_es.shell_analysis.safety.rules.processes import (
    exhausts,
    forks_for_ever,
    halts_system,
    kills_all,
)
from failproof_es.shell_analysis.safety.rules.protection import takes_guards_away
from failproof_es.shell_analysis.safety.rules.writing import (
    writes_startup_files,
    writes_system_files,
)
from failproof_es.shell_analysis.safety.text import marks
from failproof_es.shell_analysis.safety.verdict import ReasonCode, SafetyReason, SafetyVerdict

VERSION = "8"

Rule = Callable[[ShellCommand], Iterable[ReasonCode]]


def _gives(code: ReasonCode, is_harmful: Callable[[ShellCommand], bool]) -> Rule:
    """The rule that gives this code for every harmful command."""
    return lambda command: (code,) if is_harmful(command) else ()


RULES: tuple[Rule, ...] = (
    _gives(ReasonCode.DELETE_BROAD, deletes_broadly),
    _gives(ReasonCode.DELETE_BROAD, empties_broadly),
    _gives(ReasonCode.DISCARD_WORK, discards_work),
    _gives(ReasonCode.DATA_DESTROY, destroys_data),
    _gives(ReasonCode.DELETE_BROAD, destroys_packages),
    _gives(ReasonCode.DISK_FORMAT, formats_disk),
    _gives(ReasonCode.DISK_OVERWRITE, overwrites_disk),
    _gives(ReasonCode.SYSTEM_FILE_WRITE, writes_system_files),
    _gives(ReasonCode.STARTUP_FILE_WRITE, writes_startup_files),
    _gives(ReasonCode.PERM_BROAD, opens_rights),
    _gives(ReasonCode.SETUID, grants_root),
    _gives(ReasonCode.ACCOUNT_CHANGE, changes_accounts),
    runs_unknown_program,
    runs_unknown_code,
    _gives(ReasonCode.REVERSE_SHELL, opens_reverse_shell),
    _gives(ReasonCode.EXFILTRATE, sends_secrets),
    _gives(ReasonCode.FORK_BOMB, forks_for_ever),
    _gives(ReasonCode.EXHAUST, exhausts),
    _gives(ReasonCode.KILL_ALL, kills_all),
    _gives(ReasonCode.SYSTEM_HALT, halts_system),
    _gives(ReasonCode.SECURITY_OFF, takes_guards_away),
    does_harm_itself,
)


def judge_safety(command: str) -> SafetyVerdict:
    """Judge whether one command is safe; text that is not a command is unsafe (`UNPARSEABLE`).

    Raises `ProgramMissing` without `shfmt`.
    """
    reader = CommandReader()
    reader.read(marks.clean(command))
    reasons = tuple(dict.fromkeys([*reader.reasons, *_reasons(reader.commands)]))
    return SafetyVerdict(not reasons, reasons, f"safety-{VERSION} {shell.tool_version()}")


def judge_safety_many(commands: Iterable[str]) -> list[SafetyVerdict]:
    """`judge_safety` for each command, in order; parses many in one process.

    Raises `ProgramMissing` without `shfmt`.
    """
    return answer_in_parts(_judge_part, list(commands))


def _judge_part(commands: Sequence[str]) -> list[SafetyVerdict]:
    """Verdicts of the commands; parses all at once first, which fills the parser's cache."""
    shell.refusals([marks.plain(marks.clean(command)) for command in commands])
    return [judge_safety(command) for command in commands]


def _reasons(commands: Sequence[ShellCommand]) -> Iterator[SafetyReason]:
    for command in commands:
        codes = {code: None for rule in RULES for code in rule(command)}
        for code in codes:
            if code is not ReasonCode.EXFILTRATE or not _has_fuller_reading(command, commands):
                yield SafetyReason(code, command.display_text)


def _has_fuller_reading(command: ShellCommand, commands: Sequence[ShellCommand]) -> bool:
    """Whether an unset variable is empty in this reading, and not in another of `commands`.

    The reading with an empty variable counts for rules on deleting and writing, not on sending:
    `rsync "$from"/* host:` does not copy the root.
    """
    return any(
        other.name == command.name
        and other.arguments != command.arguments
        and len(other.arguments) == len(command.arguments)
        and all(
            mine in (fuller, fuller.replace(marks.ANY, ""))
            for mine, fuller in zip(command.arguments, other.arguments, strict=True)
        )
        for other in commands
    )
