"""The state of a run's reviews: the work of each reviewer, and the agreement of reviewers."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any

from failproof_es.cli.rendering.output import Column, columns_of_keys, print_table
from failproof_es.engine.reviews.comparison import RaterComparison
from failproof_es.engine.reviews.people import ReviewedEvaluation
from failproof_es.reading.recorded_run import RecordedRun
from failproof_es.report.data.judge_agreement import agreements_in

_REVIEWERS = (
    *columns_of_keys("reviewer"),
    *columns_of_keys("reviewed", "of", "pass", "fail", "unclear", "blind", right=True),
)
_AGREEMENT = (
    Column("between", "one"),
    Column("and", "other"),
    Column("on", "what"),
    Column("pairs", "pairs", right=True),
    Column("agree", "agreeing", right=True),
    *columns_of_keys("left_out", "kappa", right=True),
    Column("95 % interval", "range", right=True),
)


def status_of(run: RecordedRun, evaluations: Iterable[ReviewedEvaluation]) -> dict[str, Any]:
    """The state of a run's reviews as an object for JSON; uncomputable figures are null.

    `evaluations` are the finished ones of the run.
    """
    finished = 0
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    comparison = RaterComparison()
    for evaluation in evaluations:
        finished += 1
        comparison.add(evaluation)
        for reviewer, review in evaluation.latest().items():
            counts[reviewer].update(["reviewed", review.verdict, *["blind"] * bool(review.blind)])
    return {
        "run_id": str(run.run_id),
        "run_number": run.started.run_number,
        "finished": finished,
        "reviewers": [
            {
                "reviewer": reviewer,
                "of": finished,
                **{name: count[name] for name in ("reviewed", "pass", "fail", "unclear", "blind")},
            }
            for reviewer, count in sorted(counts.items())
        ],
        "agreement": [asdict(agreement) for agreement in agreements_in(comparison)],
    }


def print_status(document: dict[str, Any]) -> None:
    """Print an object of `status_of` as tables: the reviewers, and their agreement."""
    nobody = f"nobody reviewed the run yet: `failproof-es review {document['run_number']}`"
    print_table(document["reviewers"], _REVIEWERS, when_empty=nobody)
    if document["agreement"]:
        print_table(_for_people(document["agreement"]), _AGREEMENT)


def _for_people(rows: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for row in rows:
        kappa, interval = row["kappa"], row["interval"]
        yield row | {
            "kappa": None if kappa is None else f"{kappa:.2f}",
            "range": None if interval is None else f"{interval[0]:.2f} to {interval[1]:.2f}",
        }
