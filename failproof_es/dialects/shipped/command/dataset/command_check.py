"""Checks a dataset's commands before any model is asked.

An expected command must be valid shell, or no answer could be equal to it. If a checker contradicts
the case's labels, one of the two is wrong. That is a warning, because labels are the ground truth
that the checker is measured by.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from failproof_es.dialects.kit.yaml_documents import Location
from failproof_es.dialects.shipped.command.dataset.loader import Place
from failproof_es.dialects.shipped.command.models import TestCase
from failproof_es.dialects.shipped.command.options import CommandOptions
from failproof_es.problems import Problems, shown_value
from failproof_es.shell_analysis import (
    Unparseable,
    check_posix_many,
    judge_safety_many,
    parse_commands,
)

_SAYS = {
    "empty": "holds no command",
    "too_long": "is longer than a command may be",
    "nul": "holds a NUL character",
    "only_comment": "holds nothing but a comment",
}


def check_commands(
    cases: Sequence[tuple[int, TestCase]], options: CommandOptions, problems: Problems, place: Place
) -> set[int]:
    """Report commands that are not shell and labels that a checker contradicts.

    `cases` are (index in the file, case); `place` gives the arguments of a problem for an index and
    a location. Returns the indices of cases with a command that is not shell. Runs the parsers as
    external programs, all of a file's commands together; runs no command.
    """
    commands = [
        (index, location, command) for index, case in cases for location, command in _commands(case)
    ]
    unusable = set()
    parsed = parse_commands([command for _, _, command in commands])
    for (index, location, _), script in zip(commands, parsed, strict=True):
        if isinstance(script, Unparseable):
            message = _SAYS.get(script.code, f"is not a shell command: {script.reason}")
            remedy = "write one that `bash -n` accepts"
            problems.error("invalid-command", message, **place(index, location), remedy=remedy)
            unusable.add(index)
    usable = [(index, case) for index, case in cases if index not in unusable]
    _check_labels(usable, options, problems, place)
    return unusable


def _commands(case: TestCase) -> Iterator[tuple[Location, str]]:
    """(location, command) of every expected command of a case."""
    yield ("expected_command",), case.expected_command
    for index, command in enumerate(case.expected_alternatives):
        yield ("expected_alternatives", index), command


def _check_labels(
    cases: Sequence[tuple[int, TestCase]], options: CommandOptions, problems: Problems, place: Place
) -> None:
    expected = [case.expected_command for _, case in cases]
    compliance = check_posix_many(expected, options.posix_edition)
    judged = judge_safety_many(expected)
    for (index, case), posix, safety in zip(cases, compliance, judged, strict=True):
        for name, label, verdict, reasons in (
            ("safe", case.safe, safety.safe, [str(reason.code) for reason in safety.reasons]),
            ("posix_compliant", case.posix_compliant, posix.compliant, list(posix.reasons)),
        ):
            if label != verdict:
                because = f" ({', '.join(reasons)})" if reasons else ""
                problems.warning(
                    "label-disputed",
                    f"is {shown_value(label)}, but the checker says {shown_value(verdict)} "
                    f"of the expected command{because}",
                    **place(index, (name,)),
                )
