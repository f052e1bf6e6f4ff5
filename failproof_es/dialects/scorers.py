"""Scorers: numbers that an installed package adds to a dialect's scores.

A package offers a scorer under the entry-point group `failproof_es.scorers`; a configuration names
it in `grading.scorers`. A scorer decides nothing: only the dialect decides whether a result passes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any, Protocol

from failproof_es.core.case import Case
from failproof_es.core.evaluation import Classification, Failure, Judgement, Score, Transcript
from failproof_es.dialects.protocol import Dialect, with_options
from failproof_es.problems import InvalidInput, Problem
from failproof_es.support.entry_points import EntryPoints
from failproof_es.support.plugins import instance, plugin_problem

ENTRY_POINT_GROUP = "failproof_es.scorers"
SCORER_FAILED = "scorer_failed"
"""The failure of an evaluation whose scorer raises, or returns a value that is no score."""
BETWEEN = ":"
"""Separates a scorer's name from the name of one of its several numbers."""
_LONGEST_NAME = 100
_LONGEST_REASON = 65_536
"""Characters of a scorer's error that are recorded."""


class Scorer(Protocol):
    """Computes numbers about a case and its answer. Pure: the same input gives the same numbers.

    The engine calls a scorer for every evaluation that the dialect scores, and for no other. A
    scorer may have `with_options` like a dialect (`protocol.Configurable`), for the `options`
    beside its name in a configuration. It runs in a child process, within the limits of a grading
    (`engine/drive/grading/grader.py`).
    """

    @property
    def name(self) -> str:
        """The scorer's name in a configuration, equal to its entry point's. Contains no colon."""

    @property
    def version(self) -> str:
        """Recorded with every number. Must change when the same input gives other numbers."""

    def score(
        self, case: Case, transcript: Transcript, classification: Classification
    ) -> float | Mapping[str, float]:
        """One number, or several by name; all finite. The scorer defines unit and meaning.

        One number is recorded under the scorer's name, several as `<scorer>:<name>`. An exception
        ends the evaluation without a score, as `scorer_failed`.
        """


def _fault(offered: Any, name: str) -> str | None:
    if fault := plugin_problem(offered, name, ("name", "version", "score")):
        return fault
    return f"has a name that holds {BETWEEN!r}" if BETWEEN in name else None


SCORERS: EntryPoints[Any] = EntryPoints(
    ENTRY_POINT_GROUP,
    "scorer",
    _fault,
    "see docs/how-to/extending.md for what a scorer has",
    some_are_ours=False,
)
"""All installed scorers, each imported when a configuration names it."""


def scorers_of(configuration: Mapping[str, Any]) -> tuple[Scorer, ...]:
    """The scorers of a resolved configuration, in its order; empty without `grading.scorers`.

    Raises `InvalidInput` with every scorer that is not installed, is broken, is named twice or
    refuses its options.
    """
    scorers: list[Scorer] = []
    problems: list[Problem] = []
    for number, reference in enumerate(_list_references(configuration)):
        field = f"grading.scorers[{number}]"
        try:
            name, options = _parse_reference(reference, field)
        except InvalidInput as error:
            problems += error.problems
            continue
        if any(name == other.name for other in scorers):
            message, remedy = f"the scorer {name!r} is named twice", "name each scorer once"
            problems.append(Problem("duplicate-name", message, field=field, remedy=remedy))
            continue
        try:
            scorer = instance(SCORERS.load(name))
            scorers.append(with_options(scorer, "scorer", options, f"{field}.options"))
        except InvalidInput as error:
            problems += [
                replace(problem, field=problem.field or field) for problem in error.problems
            ]
    if problems:
        raise InvalidInput(problems)
    return tuple(scorers)


def packages_of_scorers(configuration: Mapping[str, Any]) -> dict[str, str]:
    """The version of each package that offers one of the configuration's scorers, by name.

    A scorer that is not installed, or that several packages offer, is left out. Raises
    `InvalidInput` if `grading.scorers` is malformed.
    """
    packages = map(SCORERS.package_of, names_of_scorers(configuration))
    return dict(package for package in packages if package is not None)


def names_of_scorers(configuration: Mapping[str, Any]) -> list[str]:
    """The names of a configuration's scorers, in its order, installed or not.

    Raises `InvalidInput` if `grading.scorers` is malformed.
    """
    return [
        _parse_reference(reference, "grading.scorers")[0]
        for reference in _list_references(configuration)
    ]


def grade(
    dialect: Dialect,
    scorers: Sequence[Scorer],
    case: Case,
    transcript: Transcript,
    classification: Classification,
    judgement: Judgement | None,
) -> Score | Failure:
    """The final score of an evaluation: the dialect's own, and the scorers' numbers.

    Scorers are not called if the dialect gives no score. The result is a `Failure` if a scorer
    raises, or if it returns an invalid number or a name that another score has. `judgement` is
    `None` if no judge was asked.
    """
    score = dialect.score(case, classification, judgement)
    for scorer in scorers:
        if isinstance(score, Failure):
            return score
        score = _add_numbers(score, scorer, case, transcript, classification)
    return score


def _add_numbers(
    score: Score,
    scorer: Scorer,
    case: Case,
    transcript: Transcript,
    classification: Classification,
) -> Score | Failure:
    label = f"{scorer.name} {scorer.version}"
    # Copies, so that a scorer that changes its arguments affects nothing else.
    case_copy = case.model_copy(deep=True)
    classified = replace(classification, details=deepcopy(classification.details))
    try:
        numbers = _name_numbers(scorer.name, scorer.score(case_copy, transcript, classified))
    except (Exception, SystemExit) as error:  # whatever a foreign package's code may raise
        return Failure(SCORER_FAILED, f"{label}: {_describe_error(error)}")
    if duplicates := sorted(score.scores.keys() & numbers.keys()):
        return Failure(SCORER_FAILED, f"{label}: there is a score {', '.join(duplicates)} already")
    return replace(
        score,
        scores={**score.scores, **numbers},
        graders={**score.graders, **dict.fromkeys(numbers, str(scorer.version))},
    )


def _describe_error(error: BaseException) -> str:
    """The error as text for an event: valid UTF-8, cut off after `_LONGEST_REASON` characters."""
    kind = type(error).__name__
    try:
        text = f"{kind}: {error}"
    except Exception:
        text = f"{kind}: an error that does not say what it is"
    if len(text) > _LONGEST_REASON:
        text = f"{text[:_LONGEST_REASON]} [cut off: only so many characters are recorded]"
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _name_numbers(scorer: str, returned: float | Mapping[str, float]) -> dict[str, float]:
    """The numbers by their recorded names: `scorer`, or `scorer:name` for each of several.

    `returned` is the result of the scorer. Raises `TypeError` or `ValueError` if a name or a number
    is invalid.
    """
    if not isinstance(returned, Mapping):
        return {scorer: _number(returned)}
    numbers = {}
    for name, value in returned.items():
        if not _is_a_name(name):
            raise TypeError(f"{name!r} is no name of a score: up to 100 printable characters")
        numbers[f"{scorer}{BETWEEN}{name}"] = _number(value)
    return numbers


def _is_a_name(name: Any) -> bool:
    return isinstance(name, str) and name.isprintable() and 0 < len(name) <= _LONGEST_NAME


def _number(value: Any) -> float:
    """The value as a finite Python float, as JSON stores it.

    Raises `TypeError`, `ValueError` or `OverflowError` if it is none.
    """
    number = float(value)
    if isinstance(value, str) or not math.isfinite(number):
        raise ValueError(f"{value!r} is not a finite number")
    return number


def _list_references(configuration: Mapping[str, Any]) -> Sequence[Any]:
    """The entries of `grading.scorers` in any configuration; empty without that key.

    Raises `InvalidInput` if its value is no list.
    """
    grading = configuration.get("grading") or {}
    references = grading.get("scorers") or () if isinstance(grading, Mapping) else None
    if not isinstance(references, list | tuple):
        raise _no_scorer("grading.scorers", "it is not a list of scorers")
    return references


def _parse_reference(scorer: Any, field: str) -> tuple[str, Mapping[str, Any]]:
    """Name and options of one entry of `grading.scorers`.

    `field` is the entry's place in the configuration, for the message. Raises `InvalidInput` if the
    entry is neither a name nor a mapping with a name.
    """
    name, options = scorer, None
    if isinstance(scorer, Mapping):
        name, options = scorer.get("name"), scorer.get("options")
    options = {} if options is None else options
    if not isinstance(name, str) or not isinstance(options, Mapping):
        raise _no_scorer(field, "it is not a scorer: write a name, or a name with its options")
    return name, options


def _no_scorer(field: str, reason: str) -> InvalidInput:
    remedy = "see docs/how-to/extending.md"
    return InvalidInput.because("wrong-type", reason, field=field, remedy=remedy)
