"""Turn an error into a paragraph for a person and an exit code for a program."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import replace
from enum import IntEnum
from typing import NamedTuple

import psycopg

from failproof_es.cli.entry import INTERRUPTED
from failproof_es.cli.rendering.output import say
from failproof_es.core.history_errors import ImpossibleHistory
from failproof_es.engine.drive_outcome import Outcome
from failproof_es.ledger.errors import NotSigned
from failproof_es.problems import InvalidInput, Problem
from failproof_es.store.errors import JournalError, ReadOnlyLog, UnreadableEvent, UnreadableState
from failproof_es.store.outage import LogUnavailable, server_answered
from failproof_es.store.url_redaction import redact_message
from failproof_es.store.writing.lease import RunBusy
from failproof_es.support.key_shapes import hide_keys
from failproof_es.support.untrusted_text import lines, one_line

_RUN = "failproof_es_run"


class ExitCode(IntEnum):
    """The exit codes of every command (architecture § 7)."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    GATE_NOT_MET = 3
    NOT_PROVEN_YET = 3
    """Exit code: nothing failed, but the run cannot be proven (yet)."""
    STILL_RUNNING = 124
    """`wait --timeout` is over and the run is not; the code of timeout(1)."""
    INTERRUPTED = INTERRUPTED


def exit_code_of(outcome: Outcome) -> ExitCode:
    """The exit code of a command that drove a run to `outcome`."""
    if not outcome.intact:
        return ExitCode.FAILED
    if outcome.status == "completed":
        return ExitCode.DONE if outcome.gates_met else ExitCode.GATE_NOT_MET
    if outcome.interrupted:
        return ExitCode.INTERRUPTED
    return ExitCode.FAILED


class CommandFailure(NamedTuple):
    """An error that is no problem in the user's input, and the exit code."""

    code: str
    message: str
    """The cause and the next step."""
    exit_code: ExitCode = ExitCode.FAILED


def report(error: BaseException, *, debug: bool, command: str | None = None) -> ExitCode:
    """Say on stderr what went wrong and what to do next; return the exit code.

    `command` is the name of the command that raised the error. `debug` adds the stack trace.
    """
    if debug:
        trace = "".join(traceback.format_exception(error))
        sys.stderr.write(lines(hide_keys(redact_message(trace))))
    if isinstance(error, InvalidInput):
        _say_problems(error)
        return ExitCode.USAGE
    failure = (
        _changed_log(error, command)
        or _failed_database(error)
        or _other_failure(error, "" if debug else " (--debug shows the stack trace)")
    )
    say(f"error: {failure.message} [{failure.code}]")
    return failure.exit_code


def _changed_log(error: BaseException, command: str | None) -> CommandFailure | None:
    """The failure if the log is not as the engine writes it."""
    text = _text(error)
    match error:
        case ImpossibleHistory() | UnreadableState():
            return CommandFailure(
                "log-unreadable",
                f"the record is not as the engine writes it: {text}. Nothing more was sent. "
                "`failproof-es verify` says whether it was changed.",
            )
        case NotSigned() | UnreadableEvent() if command == "verify":
            return CommandFailure("log-changed", text)
        case NotSigned() if command in ("start", "resume", "worker"):
            return CommandFailure(
                "log-changed",
                f"the log was changed: {text}. Nothing was sent. `failproof-es verify` says what "
                "was changed. Restore the newest backup, or go on from this log with "
                "`failproof-es ledger repair --force --reason TEXT`.",
            )
        case NotSigned():
            return CommandFailure(
                "log-changed",
                f"{text}. Nothing was signed. `failproof-es verify` says what was changed.",
            )
        case UnreadableEvent():
            return CommandFailure(
                "log-changed", f"{text}. `failproof-es verify` says what was changed."
            )
    return None


def _failed_database(error: BaseException) -> CommandFailure | None:
    """The failure if the database is away, takes no writes, or refused something."""
    text = _text(error)
    match error:
        case JournalError() | LogUnavailable():
            return CommandFailure(
                "log-unwritable",
                f"the log could not be written, so nothing more was sent: {text}. What is recorded "
                f"stays. When the database is back, {_resume_hint(error)}.",
            )
        case psycopg.errors.ReadOnlySqlTransaction() | ReadOnlyLog(whole=True):
            return CommandFailure(
                "database-read-only",
                "the database takes no writes: it is a standby, or the sessions of this user or "
                "database are set to be read-only (`failproof-es db status` names such a "
                "setting). Nothing that was recorded is lost.",
            )
        case psycopg.OperationalError() if server_answered(error):
            return CommandFailure(
                "database-refused",
                f"the database runs, and refused this: {text}. Nothing that was recorded is lost. "
                f"Try again; then {_resume_hint(error)}.",
            )
        case psycopg.OperationalError():
            return CommandFailure(
                "database-unreachable",
                f"the database went away: {text}. Nothing that was recorded is lost. Check that "
                "the server is running (`failproof-es db status`) and try again; then "
                f"{_resume_hint(error)}.",
            )
        case _ if _is_refused(error) or _is_refused(error.__cause__):
            why = _describe_refusal(error)
            return CommandFailure(
                "permission-denied",
                f"this database user may not do that: {why}. {_role_hint(why)}",
                ExitCode.FAILED if _RUN in vars(error) else ExitCode.USAGE,
            )
    return None


def _other_failure(error: BaseException, hint: str) -> CommandFailure:
    """The failure of a run that another process drives, or of an unexpected error with `hint`."""
    text = _text(error)
    if isinstance(error, RunBusy):
        return CommandFailure("run-busy", text)
    name = type(error).__name__
    return CommandFailure("unexpected-error", f"{name}: {text or 'no message'}{hint}")


def note_run(error: BaseException, run: str) -> None:
    """Note in the error which run was interrupted, for the hint on resuming it.

    `run` is its number or id.
    """
    vars(error)[_RUN] = run


def _resume_hint(error: BaseException) -> str:
    """The command that resumes the run noted in the error by `note_run`, or any unfinished run.

    It never names `latest`, which may be another run by then.
    """
    run = vars(error).get(_RUN)
    if run is not None:
        return f"resume the run with `failproof-es resume {run}`"
    return (
        "resume an unfinished run with `failproof-es resume RUN` (`failproof-es runs` lists them)"
    )


def _is_refused(error: BaseException | None) -> bool:
    return isinstance(error, ReadOnlyLog | psycopg.errors.InsufficientPrivilege)


def _describe_refusal(error: BaseException) -> str:
    """The database's reason for refusing, without the statement that it quotes."""
    if isinstance(error, psycopg.Error) and error.diag.message_primary is not None:
        return _text(error.diag.message_primary)
    return _text(error)


def _role_hint(why: str) -> str:
    """The database role to use, by the server's reason for refusing.

    A refused function changes the log; any other refusal is of a read.
    """
    if "function" in why:
        return "Use one that was granted failproof_writer; failproof_auditor only reads."
    return "Use one that was granted failproof_auditor to read, or failproof_writer to run."


def _say_problems(error: InvalidInput) -> None:
    problems = list(dict.fromkeys(error.problems))  # two models can lack the same thing
    if len(problems) == 1:
        say(f"error: {_text(problems[0])}")
    else:
        say(f"error: {len(problems)} problems, nothing was sent:")
        for line in _merge_lines(problems):
            say(f"  {line}")
    for warning in dict.fromkeys(error.warnings):
        say(_text(warning.describe()))
    for note in getattr(error, "__notes__", ()):
        say(_text(note))


def _merge_lines(problems: Sequence[Problem]) -> Iterator[str]:
    """The problems as lines of text; the same problem at several lines of a file is one.

    It names its first line number, then the others in brackets: `(and lines 2-9, 12)`. The order is
    that of first occurrence.
    """
    lines_of: dict[Problem, list[int]] = {}
    for problem in problems:
        alike = replace(problem, line=None, case_line=None)
        lines_of.setdefault(alike, []).extend([] if problem.line is None else [problem.line])
    for alike, numbers in lines_of.items():
        ordered = sorted(set(numbers))
        also = f" (and {_spans(ordered[1:])})" if ordered[1:] else ""
        text = _text(replace(alike, line=ordered[0] if ordered else None))
        code = f" [{alike.code}]"
        yield f"{text.removesuffix(code)}{also}{code}"


def _spans(numbers: Sequence[int]) -> str:
    """Ascending line numbers as text, consecutive ones as a range: `lines 2-9, 12`."""
    spans: list[list[int]] = []
    for number in numbers:
        if spans and number == spans[-1][-1] + 1:
            spans[-1][1:] = [number]
        else:
            spans.append([number])
    word = "line" if len(numbers) == 1 else "lines"
    return f"{word} {', '.join('-'.join(map(str, span)) for span in spans)}"


def _text(error: object) -> str:
    """The error in one printable line, without secrets and without a full stop at the end."""
    return one_line(hide_keys(redact_message(" ".join(str(error).split()))).rstrip("."))
