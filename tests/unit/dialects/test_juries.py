"""Several judges of one evaluation, in any order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

from hypothesis import given, settings
from hypothesis import strategies as st

from failproof_es.core.evaluation import Failure, Judgement, JudgeVerdict, Rule
from failproof_es.dialects.kit.judging import checklist, decide
from tests.examples import examples
from tests.unit.dialects.benchmark import test_benchmark_grading as benchmark
from tests.unit.dialects.redteam import test_red_team_grading as redteam

ITEMS = checklist(redteam.EXPECTED)
_SEEN = st.sampled_from(["present", "absent"])
_VERDICTS = st.tuples(_SEEN, _SEEN, st.sampled_from(["met", "not_met", None]))
_CHECKLISTS = _VERDICTS.map(lambda words: redteam.judge(*words).verdict) | st.none()
_SCORES = st.sampled_from([None, 0.0, 0.3, 0.5, 0.9]).map(
    lambda score: None if score is None else {"score": score, "reason": "because"}
)


def two_orders(verdict: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, Any]]:
    """The verdicts of one judge or more, in two orders."""
    juries = st.lists(verdict, min_size=1)
    return juries.flatmap(lambda jury: st.tuples(st.just(jury), st.permutations(jury)))


def judgement(rule: Rule, verdicts: Sequence[dict[str, Any] | None]) -> Judgement:
    judges = (JudgeVerdict(f"judge:{n}", verdict) for n, verdict in enumerate(verdicts))
    return Judgement(rule, tuple(judges))


def outcome(module: Any, judged: Judgement) -> object:
    """What a dialect makes of the verdicts, without its words."""
    classification = module.DIALECT.classify(module.CASE, module.ANSWERED)
    end = module.DIALECT.score(module.CASE, classification, judged)
    return end.kind if isinstance(end, Failure) else (end.scores, end.passed)


@settings(max_examples=examples(4))
@given(two_orders(_CHECKLISTS), two_orders(_SCORES), st.sampled_from(get_args(Rule)))
def test_the_order_of_the_judges_has_no_influence(
    checklists: tuple[Any, Any], scores: tuple[Any, Any], rule: Rule
) -> None:
    one, other = (judgement(rule, verdicts) for verdicts in checklists)
    assert outcome(redteam, one) == outcome(redteam, other)
    assert [
        (decision.passes, decision.lacks_votes, decision.is_disputed)
        for decision in decide(ITEMS, one)
    ] == [
        (decision.passes, decision.lacks_votes, decision.is_disputed)
        for decision in decide(ITEMS, other)
    ]
    assert outcome(benchmark, judgement(rule, scores[0])) == outcome(
        benchmark, judgement(rule, scores[1])
    )
