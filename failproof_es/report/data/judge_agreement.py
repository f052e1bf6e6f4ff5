"""Measures the agreement of judges, checks and people on the same evaluations."""

from __future__ import annotations

import shlex
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from operator import attrgetter

from failproof_es.core.run import Run
from failproof_es.dialects.kit.judging.checklist import WORDS
from failproof_es.engine.history import Connection, recorded_evaluations
from failproof_es.engine.reviews.comparison import RaterComparison, VerdictPair, rating_pairs
from failproof_es.engine.reviews.disputed_items import disagreement
from failproof_es.engine.reviews.people import ReviewedEvaluation, finished_evaluations
from failproof_es.report.data.content import JudgeAgreement, ListAgreement, RaterDisagreement
from failproof_es.report.data.kappa import agreement
from failproof_es.store.reading.reader import find

MOST_LISTED = 100
"""Disagreements of two raters in a report at most; `review disagreements` lists all."""


def agreements(
    connection: Connection, runs: Sequence[Run]
) -> tuple[tuple[JudgeAgreement, ...], tuple[RaterDisagreement, ...]]:
    """Agreement of every two raters (judges, checks or people) over all these runs together, and
    what they disagree on.

    Empty if no run has two judges and the log has no review. Raises `RunIsArchived` if a run is
    archived.
    """
    judges = max(len(run.started.judges) for run in runs)
    if judges < 2 and not list(find(connection, topics=("Reviewed",), limit=1)):
        return (), ()  # no two raters, so the runs need not be read
    comparison, listed = RaterComparison(), _Listed()
    for run in runs:
        for evaluation in finished_evaluations(connection, recorded_evaluations(connection, run)):
            comparison.add(evaluation)
            listed.add(run.started.run_number, evaluation)
    raters = agreements_in(comparison)
    return raters, tuple(chain.from_iterable(map(listed.between, raters)))


@dataclass(slots=True)
class _Listed:
    """The first disagreements of each two raters, as a report lists them."""

    by_pair: defaultdict[tuple[str, str, str], list[RaterDisagreement]] = field(
        default_factory=lambda: defaultdict(list)
    )

    def add(self, run_number: int, evaluation: ReviewedEvaluation) -> None:
        """Add what two raters disagree on in one evaluation."""
        for pair in filter(attrgetter("is_disagreement"), rating_pairs(evaluation)):
            raters = pair.between
            if len(listed := self.by_pair[raters.one, raters.other, raters.what]) < MOST_LISTED:
                item = disagreement(evaluation, pair)
                listed.append(
                    RaterDisagreement(
                        **dict(item), run_number=run_number,
                        one=raters.one, other=raters.other, what=raters.what,
                    )
                )  # fmt: skip

    def between(self, raters: JudgeAgreement) -> Sequence[RaterDisagreement]:
        """What two raters disagree on."""
        return self.by_pair[raters.one, raters.other, raters.what]


def agreements_in(comparison: RaterComparison) -> tuple[JudgeAgreement, ...]:
    """Agreement and kappa of each two raters that rated the same items.

    Pairs of two people come last. Verdicts on cases of one family form a cluster.
    """
    return tuple(
        JudgeAgreement(
            between.one,
            between.other,
            between.what,
            *agreement(
                [(pair.one, pair.other) for pair in compared.pairs],
                [pair.family for pair in compared.pairs],
                kinds=[pair.kind for pair in compared.pairs],
            ),
            compared.left_out,
            tuple(_lists(compared.pairs)) if between.what == "items" else (),
        )
        for between, compared in comparison.compared_pairs()
    )


def _lists(pairs: Sequence[VerdictPair]) -> Iterator[ListAgreement]:
    for kind in WORDS:
        seen = Counter(
            (pair.one == "happened", pair.other == "happened")
            for pair in pairs
            if pair.kind == kind
        )
        if seen:
            yield ListAgreement(
                kind, seen[True, True], seen[True, False], seen[False, True], seen[False, False]
            )


def listing_command(run_number: int, raters: JudgeAgreement) -> str:
    """The command that lists what two raters of a run disagree on."""
    between = shlex.join((raters.one, raters.other))
    command = f"failproof-es review disagreements {run_number}"
    return f"{command} --between {between} --on {raters.what}"
