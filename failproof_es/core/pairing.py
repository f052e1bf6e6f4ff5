"""Pairs the evaluations of two runs, or of two models, that asked the same. Pure.

Two evaluations are a pair if their cases have the same `experiment.graded_digest` (text sent and
criteria of grading), their repetitions are the same, and the same versions of classifiers, readers
of judges and scorers graded both. The id of a case decides only which of several equal cases are
paired. Evaluations without a partner are counted by reason.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

Why = Literal[
    "sent another prompt under the same name",
    "graded otherwise",
    "graded otherwise, by other versions",
    "asked another number of times",
    "asked in one only",
    "without a score on at least one side",
]
"""Why an evaluation has no partner. Except for `OTHER_VERSIONS` and `NOT_SCORED`, the other side
was not asked the same."""

ALTERED: Why = "sent another prompt under the same name"
REGRADED: Why = "graded otherwise"
OTHER_VERSIONS: Why = "graded otherwise, by other versions"
FEWER: Why = "asked another number of times"
ALONE: Why = "asked in one only"
NOT_SCORED: Why = "without a score on at least one side"
_IN_ORDER = (ALTERED, REGRADED, OTHER_VERSIONS, FEWER, ALONE, NOT_SCORED)


def counterparts(
    models: Sequence[str], other_models: Sequence[str]
) -> list[tuple[str, str | None]]:
    """Each model of one run with the same model of another run; `None` if that run lacks it.

    Both are keys. The models of two runs with one model each are paired whatever they are.
    """
    if len(models) == len(other_models) == 1:
        return [(models[0], other_models[0])]
    return [(model, model if model in other_models else None) for model in models]


class Question(NamedTuple):
    """The question of one evaluation, with its repetition."""

    graded: str
    """`experiment.graded_digest`: of the sent part of the case, and of the rules of grading."""
    sent: str
    """`experiment.question_digest`: of the sent part of the case."""
    suite: str
    case: str
    repetition: int


@dataclass(frozen=True, slots=True)
class Unpaired:
    """The number of evaluations without a partner on each side, by reason."""

    why: Why
    first: int
    second: int

    def describe(self) -> str:
        """The counts and the reason in one phrase: `3 and 5 asked in one only`."""
        if self.first == self.second:
            return f"{self.first:,} {self.why}"
        return f"{self.first:,} and {self.second:,} {self.why}"


@dataclass(frozen=True, slots=True)
class Pairing:
    """The pairs of two sequences of questions, and the questions that have no partner.

    A pair is an index into each sequence; pairs are in the order of the first.
    """

    pairs: tuple[tuple[int, int], ...]
    unpaired: tuple[Unpaired, ...]
    unscored: tuple[tuple[int, int], ...] = ()
    """Indices of the evaluations that would be pairs if both had a score."""


def same_questions(unpaired: Iterable[Unpaired]) -> bool:
    """Whether both sides were asked the same questions, scored or not, by their `unpaired`."""
    return all(group.why in (NOT_SCORED, OTHER_VERSIONS) for group in unpaired)


def advice_on(unpaired: Iterable[Unpaired]) -> str | None:
    """Advice so that an edited prompt gets partners; `None` if no prompt was edited."""
    if all(group.why != ALTERED for group in unpaired):
        return None
    return (
        "an edited prompt is compared if it stands in `matrix.prompts`, and each case holds its "
        "question alone"
    )


def asked_alone(unpaired: Iterable[Unpaired]) -> tuple[int, int]:
    """The number of evaluations on each side whose question the other side was not asked."""
    alone = [group for group in unpaired if group.why in (ALONE, FEWER)]
    return sum(group.first for group in alone), sum(group.second for group in alone)


def what_differs(unpaired: Iterable[Unpaired]) -> str | None:
    """`asked the same` or `graded alike`: the one that two sides were not; `None` if both.

    Rates of the two sides can be compared only if it is `None`.
    """
    groups = tuple(unpaired)
    if not same_questions(groups):
        return "asked the same"
    return "graded alike" if any(group.why == OTHER_VERSIONS for group in groups) else None


def pair_evaluations(
    first: Sequence[Question],
    second: Sequence[Question],
    scored: Callable[[int, int], bool] = lambda one, other: True,
    alike: Callable[[int, int], bool] = lambda one, other: True,
) -> Pairing:
    """Pair the questions of `first` with those of `second`.

    For an index into `first` and one into `second`, `scored` tells whether both evaluations have a
    score, `alike` whether the same versions graded both (`graded_alike`).
    """
    partners = _partners(first, second)
    counts: defaultdict[Why, list[int]] = defaultdict(lambda: [0, 0])
    pairs: list[tuple[int, int]] = []
    unscored: list[tuple[int, int]] = []
    for one, other in sorted(partners.items()):
        if not scored(one, other):
            unscored.append((one, other))
        elif alike(one, other):
            pairs.append((one, other))
        else:
            counts[OTHER_VERSIONS] = [count + 1 for count in counts[OTHER_VERSIONS]]
    if unscored:
        counts[NOT_SCORED] = [len(unscored)] * 2
    for side, (own, other_questions, paired) in enumerate(
        ((first, second, partners.keys()), (second, first, set(partners.values())))
    ):
        why_alone = _UnpairedReason(other_questions)
        for at, question in enumerate(own):
            if at not in paired:
                counts[why_alone(question)][side] += 1
    unpaired = (Unpaired(why, *counts[why]) for why in _IN_ORDER if why in counts)
    return Pairing(tuple(pairs), tuple(unpaired), tuple(unscored))


def graded_alike(one: Mapping[str, str], other: Mapping[str, str]) -> bool:
    """Whether two evaluations were graded by the same versions.

    `one` and `other` are `EvaluationOutcome.graded_by`: versions by grader. A grader that graded
    only one of them is ignored: an empty answer, say, is shown to no judge. So is a part of a
    version that one of them lacks: a command that does not parse reaches no checker.
    `reading.overviews.pair_statements` has the same rule as SQL.
    """
    return one == other or next(other_versions(one, other), None) is None


class OtherVersion(NamedTuple):
    """A classifier, reader of judges or scorer that graded two evaluations in two versions."""

    grader: str
    first: str
    second: str


def other_versions(one: Mapping[str, str], other: Mapping[str, str]) -> Iterator[OtherVersion]:
    """The graders whose versions differ between two evaluations, by name, as for `graded_alike`."""
    for name in sorted(one.keys() & other):
        mine, theirs = (set(versions[name].split()) for versions in (one, other))
        if not (mine <= theirs or theirs <= mine):
            yield OtherVersion(name, one[name], other[name])


def _partners(first: Sequence[Question], second: Sequence[Question]) -> dict[int, int]:
    """Indices of partners in `second`, by index in `first`.

    Among equal questions, those with the same suite and case id are paired first.
    """
    partners: dict[int, int] = {}
    keys: tuple[Callable[[Question], Hashable], ...] = (
        lambda question: (question.graded, question.suite, question.case, question.repetition),
        lambda question: (question.graded, question.repetition),
    )
    for key in keys:
        paired = set(partners.values())
        free: defaultdict[Hashable, list[int]] = defaultdict(list)
        for at in reversed(range(len(second))):
            if at not in paired:
                free[key(second[at])].append(at)
        for at, question in enumerate(first):
            if at not in partners and (places := free.get(key(question))):
                partners[at] = places.pop()
    return partners


class _UnpairedReason:
    """Finds the reason why a question has no partner among the given questions."""

    def __init__(self, questions: Sequence[Question]) -> None:
        self._sent: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        self._graded = {question.graded for question in questions}
        for question in questions:
            self._sent[question.suite, question.case].add(question.sent)

    def __call__(self, question: Question) -> Why:
        if question.graded in self._graded:
            return FEWER
        sent = self._sent.get((question.suite, question.case))
        if sent is None:
            return ALONE
        return REGRADED if question.sent in sent else ALTERED
