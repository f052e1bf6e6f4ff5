"""Scorers: numbers that an installed package adds to those of a dialect.

A package names its scorer under the entry-point group `failproof_es.scorers`, a configuration
names it in `grading.scorers`. A scorer decides nothing: the dialect alone decides whether a
result passes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any, Protocol

from failproof_es.core.case import Case
from failproof_es.core.evaluation import Classification, Failure, Judgement, Score, Transcript
from failproof_es.dialects.protocol import Configurable, Dialect
from failproof_es.problems import InvalidInput, Problem
from failproof_es.support.entry_points import EntryPoints
from failproof_es.support.plugins import instance, plugin_problem

ENTRY_POINT_GROUP = "failproof_es.scorers"
SCORER_FAILED = "scorer_failed"
"""Why an evaluation is abandoned if a scorer raises, or returns a value that is no score."""
BETWEEN = ":"
"""Stands between a scorer's name and that of one of several numbers."""
_LONGEST_NAME = 100
_LONGEST_REASON = 65_536
"""At most so many characters of a scorer's error are recorded."""


class Scorer(Protocol):
    """Numbers about a case and what was answered. Pure: the same input gives the same numbers.

    It is asked about every evaluation that its dialect scores, and about no other one. It may
    have `with_options` as a dialect may (`protocol.Configurable`), for `options` given beside
    its name in a configuration. It is called in a child process, within the limits of a grading
    (`engine/drive/grading/grader.py`).
    """

    @property
    def name(self) -> str:
        """The word for it in a configuration; the name of its entry point. Holds no colon."""

    @property
    def version(self) -> str:
        """Recorded with every score of it. Raised whenever the same input gives other numbers."""

    def score(
        self, case: Case, transcript: Transcript, classification: Classification
    ) -> float | Mapping[str, float]:
        """One number, recorded under the scorer's name; or several by name, each recorded as
        `<scorer>:<name>`. All finite; unit and meaning are the scorer's own.

        Raising ends the evaluation without a score, as `scorer_failed`.
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
"""Every scorer that can be named. Imported when it is."""


def scorers_of(configuration: Mapping[str, Any]) -> tuple[Scorer, ...]:
    """The scorers of a resolved configuration, in its order; none before there were any.

    Raises `InvalidInput` with all that are not installed, broken, named twice, or refuse
    their options.
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
            remedy = "name each scorer once"
            problems.append(
                Problem(f"the scorer {name!r} is named twice", None, None, field, remedy)
            )
            continue
        try:
            scorers.append(_configured(instance(SCORERS.load(name)), options, field))
        except InvalidInput as error:
            problems += [
                replace(problem, field=problem.field or field) for problem in error.problems
            ]
    if problems:
        raise InvalidInput(problems)
    return tuple(scorers)


def packages_of_scorers(configuration: Mapping[str, Any]) -> dict[str, str]:
    """The versions of the packages that offer a configuration's scorers, by package."""
    packages = map(SCORERS.package_of, names_of_scorers(configuration))
    return dict(package for package in packages if package is not None)


def names_of_scorers(configuration: Mapping[str, Any]) -> list[str]:
    """The names of a configuration's scorers, installed or not."""
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

    What the dialect does not score, no scorer is asked about. A number under a name that is taken
    is a failure, and no number replaces another.
    """
    score = dialect.score(case, classification, judgement)
    for scorer in scorers:
        if isinstance(score, Failure):
            return score
        score = _with(score, scorer, case, transcript, classification)
    return score


def _with(
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
        return Failure(SCORER_FAILED, f"{label}: {_raised(error)}")
    if duplicates := sorted(score.scores.keys() & numbers.keys()):
        return Failure(SCORER_FAILED, f"{label}: there is a score {', '.join(duplicates)} already")
    return replace(
        score,
        scores={**score.scores, **numbers},
        graders={**score.graders, **dict.fromkeys(numbers, str(scorer.version))},
    )


def _raised(error: BaseException) -> str:
    """What was raised as an event can hold it: whole characters, not too many."""
    kind = type(error).__name__
    try:
        text = f"{kind}: {error}"
    except Exception:
        text = f"{kind}: an error that does not say what it is"
    if len(text) > _LONGEST_REASON:
        text = f"{text[:_LONGEST_REASON]} [cut off: only so many characters are recorded]"
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _name_numbers(scorer: str, returned: float | Mapping[str, float]) -> dict[str, float]:
    """The numbers by their recorded names. Raises if one is not a number."""
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
    """A score as JSON keeps it. Numbers of other libraries become Python's."""
    number = float(value)
    if isinstance(value, str) or not math.isfinite(number):
        raise ValueError(f"{value!r} is not a finite number")
    return number


def _list_references(configuration: Mapping[str, Any]) -> Sequence[Any]:
    """The entries of `grading.scorers`, whoever wrote the configuration. Raises `InvalidInput`."""
    grading = configuration.get("grading") or {}
    references = grading.get("scorers") or () if isinstance(grading, Mapping) else None
    if not isinstance(references, list | tuple):
        raise _no_scorer("grading.scorers", "it is not a list of scorers")
    return references


def _parse_reference(scorer: Any, field: str) -> tuple[str, Mapping[str, Any]]:
    """Name and options of one entry of `grading.scorers`. Raises `InvalidInput`."""
    name, options = scorer, None
    if isinstance(scorer, Mapping):
        name, options = scorer.get("name"), scorer.get("options")
    options = {} if options is None else options
    if not isinstance(name, str) or not isinstance(options, Mapping):
        raise _no_scorer(field, "it is not a scorer: write a name, or a name with its options")
    return name, options


def _no_scorer(field: str, reason: str) -> InvalidInput:
    return InvalidInput([Problem(reason, field=field, remedy="see docs/how-to/extending.md")])


def _configured(scorer: Scorer, options: Mapping[str, Any], field: str) -> Scorer:
    if not options:
        return scorer
    if not isinstance(scorer, Configurable):
        reason = f"the scorer {scorer.name!r} has no options"
        raise InvalidInput([Problem(reason, field=f"{field}.options", remedy="remove them")])
    return scorer.with_options(options)
