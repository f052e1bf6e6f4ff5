"""Measures the agreement of judges, checks and people on the same evaluations."""

from __future__ import annotations

from collections.abc import Sequence

from failproof_es.core.run import Run
from failproof_es.engine.history import Connection, recorded_evaluations
from failproof_es.engine.reviews.comparison import RaterComparison
from failproof_es.engine.reviews.people import finished_evaluations
from failproof_es.report.data.content import JudgeAgreement
from failproof_es.report.data.kappa import agreement
from failproof_es.store.reading.reader import find


def agreements(connection: Connection, runs: Sequence[Run]) -> tuple[JudgeAgreement, ...]:
    """Agreement of every two raters (judges, checks or people) over all these runs together.

    Empty if no run has two judges and the log has no review. Raises `RunIsArchived` if a run is
    archived.
    """
    judges = max(len(run.started.judges) for run in runs)
    if judges < 2 and not list(find(connection, topics=("Reviewed",), limit=1)):
        return ()  # no two raters, so the runs need not be read
    comparison = RaterComparison()
    for run in runs:
        for evaluation in finished_evaluations(connection, recorded_evaluations(connection, run)):
            comparison.add(evaluation)
    return agreements_in(comparison)


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
        )
        for between, compared in comparison.compared_pairs()
    )
