"""The state of a run's reviews: the work of each reviewer, and the agreement of reviewers."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any

from failproof_es.cli.rendering.output import Column, columns_of_keys, print_line, print_table
from failproof_es.engine.reviews.comparison import RaterComparison
from failproof_es.engine.reviews.people import ReviewedEvaluation
from failproof_es.reading.recorded_run import RecordedRun
from failproof_es.report.data.judge_agreement import agreements_in, listing_command

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


_LISTS = (
    Column("between", "one"),
    Column("and", "other"),
    *columns_of_keys("list"),
    Column("happened by both", "both", right=True),
    Column("first only", "only_one", right=True),
    Column("second only", "only_other", right=True),
    *columns_of_keys("neither", right=True),
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
        "agreement": [
            asdict(raters) | {"command": listing_command(run.started.run_number, raters)}
            for raters in agreements_in(comparison)
        ],
    }


def print_status(document: dict[str, Any]) -> None:
    """Print an object of `status_of` as tables: the reviewers, and their agreement."""
    nobody = f"nobody reviewed the run yet: `failproof-es review {document['run_number']}`"
    print_table(document["reviewers"], _REVIEWERS, when_empty=nobody)
    if document["agreement"]:
        print_table(_for_people(document["agreement"]), _AGREEMENT)
        if lists := list(_items_by_list(document["agreement"])):
            print_table(lists, _LISTS)
        for raters in document["agreement"]:
            if raters["agreeing"] < raters["pairs"]:
                print_line(f"{raters['pairs'] - raters['agreeing']} differ: {raters['command']}")


def _items_by_list(rows: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The items that happened by list, as each two raters saw it."""
    for raters in rows:
        for of_list in raters["lists"]:
            yield {"one": raters["one"], "other": raters["other"], **of_list}


def _for_people(rows: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for row in rows:
        kappa, interval = row["kappa"], row["interval"]
        yield row | {
            "kappa": None if kappa is None else f"{kappa:.2f}",
            "range": None if interval is None else f"{interval[0]:.2f} to {interval[1]:.2f}",
        }
