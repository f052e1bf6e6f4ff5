"""Several runs counted together: every obstacle is named, and no case counts as two."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations

import pytest

from failproof_es.core.pairing import Question
from failproof_es.events import RunStarted
from failproof_es.problems import InvalidInput
from failproof_es.report.data.analysis import groups, stability
from failproof_es.report.data.observations import Observation
from failproof_es.report.data.pooling import pool
from tests.every import every
from tests.unit.histories import a_case
from tests.unit.report.observed import observed
from tests.unit.summaries import scored_outcome, summary_of


def begun(number: int, *models: str, **more: object) -> RunStarted:
    summary = summary_of({model: [(a_case(), scored_outcome(1.0))] for model in models or "m"})
    return summary.run.started.model_copy(update={"run_number": number, **more})


TWICE = {"execution": {"repetitions": 2}}
CHECKED = [observed("a", run_number=1), observed("b", False, run_number=1)]
JUDGED = [
    observed(
        "a", False, suite="judged", cluster=("judged", "a"), run_number=2,
        question=Question("graded by a judge", "s a", "judged", "a", 1),
    ),
    observed("c", suite="judged", cluster=("judged", "c"), run_number=2),
]  # fmt: skip


def test_runs_count_as_one_and_a_case_of_both_is_one_cluster() -> None:
    pooled, sentence = pool([begun(1), begun(2)], [CHECKED, JUDGED])
    assert sentence == "Counted together: runs 1, 2; 1 case of several runs count in each."
    together = [observation for of_run in pooled for observation in of_run]
    (overall, *_) = groups("m", together)
    assert (overall.rate.passed, overall.rate.total, overall.rate.clusters) == (2, 4, 3)
    assert stability("m", together) is None, "two criteria are no repetitions"
    assert pool([begun(1), begun(2)], [CHECKED, JUDGED[1:]])[1] == "Counted together: runs 1, 2."


def test_the_family_of_a_case_of_both_goes_with_it() -> None:
    family = ("judged", "F")
    judged = [
        replace(JUDGED[0], cluster=family),
        observed("d", suite="judged", cluster=family, run_number=2),
    ]
    pooled, _ = pool([begun(1), begun(2)], [CHECKED, judged])
    assert {observation.cluster for observation in pooled[1]} == {CHECKED[0].cluster}


@every("order", permutations(range(3)))
def test_clusters_that_a_chain_of_runs_links_are_one(order: tuple[int, int, int]) -> None:
    def asked(run_number: int, family: str, *cases: str) -> list[Observation]:
        return [
            observed(
                case, cluster=("s", family), run_number=run_number,
                question=Question(f"graded {run_number}", case, "s", case, 1),
            )
            for case in cases
        ]  # fmt: skip

    seen = [
        [*asked(1, "a", "a"), *asked(1, "b", "b"), *asked(1, "alone", "e")],
        [*asked(2, "f", "a", "c"), *asked(2, "d", "d")],
        asked(3, "g", "b", "c"),
    ]
    pooled, _ = pool([begun(at + 1) for at in order], [seen[at] for at in order])
    clusters = {(one.case, one.cluster) for own in pooled for one in own}
    linked = {cluster for case, cluster in clusters if case in ("a", "b", "c")}
    assert len(linked) == 1 and len({cluster for _, cluster in clusters}) == 3


@pytest.mark.parametrize(
    ("runs", "seen", "why"),
    [
        ([begun(1)], [CHECKED], "run 1 alone"),
        ([begun(1), begun(2, "m", "n")], [CHECKED, JUDGED], "different models"),
        ([begun(1), begun(2)], [CHECKED, CHECKED], "runs 1 and 2 both asked case 'a'"),
        (
            [begun(1), begun(2, configuration=TWICE, planned_evaluations=2)],
            [CHECKED, JUDGED], "a different number of times",
        ),
    ],
)  # fmt: skip
def test_runs_that_are_no_parts_of_one_are_refused(
    runs: Sequence[RunStarted], seen: Sequence[Sequence[Observation]], why: str
) -> None:
    with pytest.raises(InvalidInput, match=why) as refused:
        pool(runs, seen)
    assert [problem.code for problem in refused.value.problems] == ["not-poolable"]
