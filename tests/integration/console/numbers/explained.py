"""The numbers that no SQL is compared with, by page, and why."""

from __future__ import annotations

STATISTICS = {
    "*.low": "an interval of numbers that are compared: tests/unit/support/test_statistics.py",
    "*.high": "the same",
}
CLUSTERS = {"*passed.clusters": "cases and families: tests/integration/console/test_one_number.py"}
ABSENT_HERE = "there is none in these logs; "
EXPLAINED: dict[str, dict[str, str]] = {
    "runs": STATISTICS
    | CLUSTERS
    | {
        "rows[].run.passed[].sums.*": "sums over clusters: test_one_number.py compares their use",
        "tags[].runs": ABSENT_HERE + "tests/integration/console/test_annotated_runs.py",
    },
    "run": STATISTICS
    | CLUSTERS
    | {
        "trends[].*": "as the list of runs has it, compared",
        "failed_most[].*": "as the charts have it by category, compared",
        "more_failed": ABSENT_HERE + "failures in other groups than those",
        "latency_p*_ms": "percentiles, to three digits: tests/unit/core/test_summary.py",
        "seeds{}": "as RunStarted says it",
        "suites[].cases": "the same",
        "suites[].of_cases": "the same",
        "selection.*": ABSENT_HERE + "as RunStarted says it",
        "branched_from.*": ABSENT_HERE + "tests/acceptance/runs/test_branching.py",
        "registration.*": ABSENT_HERE + "tests/acceptance/ledger/test_registration.py",
        "imported.*": ABSENT_HERE + "as RunImported says it",
        "closings[].*": ABSENT_HERE + "as ReviewClosed says it",
        "*accuracy*_bounds[]": "tests/acceptance/recomputation",
        "by_suite[].awaiting_review": ABSENT_HERE + "tests/acceptance/reading/test_people_judge.py",
        "by_suite[].classes{}": "sums of these are `by_model[].classes`, compared",
        "limits[].*": ABSENT_HERE + "as the last LimitChanged says it",
        "shares[].*": ABSENT_HERE + "slices are in no event: tests/integration/engine",
        "workers[].*": ABSENT_HERE + "as WorkerJoined and WorkerLeft say it",
        "jury[].*": ABSENT_HERE + "tests/unit/reading/test_jury.py",
        "by_people[].*": ABSENT_HERE + "tests/unit/reading/test_people_figures.py",
        "validation.more{}": ABSENT_HERE + "as RunValidated says it",
        "attempts.overlapping*": "tests/integration/engine/test_attempts.py",
        "protection.*": "the page of the ledger has the same, compared below",
    },
    "results": {"looked_at": ABSENT_HERE + "tests/integration/console/test_large_runs.py"},
    "matrix": STATISTICS
    | CLUSTERS
    | {
        "looked_at": ABSENT_HERE + "tests/integration/console/test_matrix.py",
        "columns[].passed.*": "as `by_model[].passed` of the run's page, compared",
        "variants.*": ABSENT_HERE + "as `columns`, compared in test_matrix.py",
        "shown.*": "the page of the evaluation has the same, compared below",
    },
    "cost": {"prices[].*": "as PricesRecorded says it"},
    "charts": STATISTICS
    | CLUSTERS
    | {"drawn": ABSENT_HERE + "tests/integration/console/test_large_runs.py"},
    "compare": STATISTICS
    | {
        "*.p": "a test of numbers that are compared: tests/unit/support",
        "*.adjusted_p": "the same",
        "*.adjusted_for": "how many models are compared",
        "*base.clusters": "as `clusters`, compared",
        "*other.clusters": "as `clusters`, compared",
        "*.smallest_effect": "the same",
        "*.one_answer": ABSENT_HERE + "test_numbers_of_other_runs.py",
        "*.not_looked_into": ABSENT_HERE + "it is of runs of many cases",
        "choices[].run_number": "the newest runs: the list of runs has them, compared",
        "*_answer.characters": "how long a text is that stands there: tests of texts",
        "*_answer.more_*": "the same",
        "more_values": "counts values that the page leaves out",
        "rows[].lines[].times": "counts lines that are alike within an answer",
        "rows[].pair.place": "the place in the order: its rows are compared",
    },
    "trend": STATISTICS | CLUSTERS,
    "agreement": {"*": "as the report has it: tests/unit/engine/test_review_comparison.py"},
    "archive": {},
    "suites": {},
    "cases": {"looked_at": ABSENT_HERE + "tests/integration/console/test_bounds.py"},
    "case": STATISTICS
    | CLUSTERS
    | {
        "models[].carried_over": ABSENT_HERE + "test_numbers_of_other_runs.py",
        "newest": ABSENT_HERE + "tests/integration/console/test_bounds.py",
        "versions[].position": ABSENT_HERE + "as `position`, compared",
    },
    "review": {"looked_at": ABSENT_HERE + "tests/integration/console/test_bounds.py"},
    "ledger": {
        "ledger.next_checkpoint": "a cursor",
        "ledger.anchored_outside": "stands in a file of this host, in no event: test_events.py",
        "ledger.verified.*": "stands in a file of this host, in no event: test_events.py",
    },
    "search": {},
    "stream": {},
    "event": {"proof.*": "tests/integration/console/test_events.py checks the proof itself"},
    "evaluation": {
        "*characters": "how long a text is that stands there: tests of texts",
        "*more_lines": "the same",
        "turns[].number": "counts the turns on the page",
        "attempts[].number": "counts the attempts on the page",
        "verdict.first_token_ms": ABSENT_HERE + "as ResponseReceived says it",
        "imported.position": ABSENT_HERE + "of AnswerImported",
    },
}
"""By page: what is compared with no SQL, and why."""
