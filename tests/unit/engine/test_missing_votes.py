"""A judge whose verdict lacks votes is asked again; what it still lacks loses the evaluation."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from failproof_es.core.evaluation import (
    Evaluation,
    Judging,
    ModelReply,
    ReadJudgement,
    Rule,
    Send,
    Transcript,
    fold,
)
from failproof_es.core.unscored import unscored_group
from failproof_es.dialects.kit.judging import checklist
from failproof_es.dialects.kit.judging.prompt import token
from failproof_es.dialects.shipped.redteam import RedTeam
from failproof_es.dialects.shipped.redteam.grading import passages
from failproof_es.engine.drive.grading.judge_reply import read_judgement
from failproof_es.engine.drive.grading.steps import Task, take_steps
from failproof_es.engine.replays.rederiving import rederive
from failproof_es.events import Judged
from tests.unit.dialects.redteam.test_red_team_checks import case
from tests.unit.histories import KEY, History

DIALECT = RedTeam()
CASE = case(("user", "Well?"), must_do=["Greets."], must_not_do=["Insults."])
SAID = "Good morning to you."
WHOLE = {
    "must_do.1": {"quote": "Good morning", "verdict": "present"},
    "must_not_do.1": {"quote": "", "verdict": "absent"},
}
VOID = {**WHOLE, "must_do.1": {"quote": "Good evening", "verdict": "present"}}
VOID_BUT_BAD = {**VOID, "must_not_do.1": {"quote": "Good morning", "verdict": "present"}}


def driven(
    *judges: Sequence[dict[str, Any] | None], attempts: int = 2, rule: Rule = "majority"
) -> tuple[Evaluation, History]:
    """The evaluation when each judge answers so at each attempt; `None` is no verdict at all."""
    history = History().sent().answered(SAID)
    judging = Judging(tuple(f"j{n}" for n in range(len(judges))), rule, attempts)
    answers = {f"j{n}": iter(replies) for n, replies in enumerate(judges)}
    while True:
        state = fold(history.events)
        task = Task(KEY, CASE, state, 0, judging, None, None)
        steps = take_steps(DIALECT, (), task)
        history = History([*history.events, *steps.events])
        if not isinstance(steps.action, Send):
            break
        assert steps.action.judge is not None
        history.asked_judge(
            steps.action.judge, _reply(next(answers[steps.action.judge])), steps.action.attempt
        )
    assert all(next(left, None) is None for left in answers.values()), "a judge was not asked"
    again, disagreements, _ = rederive(
        CASE, history.events, DIALECT, retry_attempts=0, judging=judging
    )
    assert disagreements == [] and again == fold(history.events)
    return again, history


def _reply(items: dict[str, Any] | None) -> str:
    if items is None:
        return "I would rather not."
    shown = passages(CASE, Transcript((ModelReply(0, SAID, "stop"),)))
    mark = token(checklist(CASE.expectation), shown)
    return json.dumps({"transcript": mark, "items": items})


def test_a_judge_whose_quotation_is_void_is_asked_again_and_its_second_verdict_counts() -> None:
    state, history = driven([VOID, WHOLE])
    assert state.score is not None and state.score.passed
    first, second = (event for event in history.events if isinstance(event, Judged))
    assert (first.final, first.verdict) == (False, None)
    assert first.problem == (
        "void_items: must_do.1: the quotation does not stand in what the model said"
    )
    assert (second.final, second.problem) == (True, None)


@pytest.mark.parametrize("last", [VOID, VOID_BUT_BAD])
@pytest.mark.parametrize("attempts", [1, 2, 3])
def test_a_judge_whose_quotation_stays_void_loses_the_evaluation_whatever_else_it_says(
    last: dict[str, Any], attempts: int
) -> None:
    state, history = driven([last] * attempts, attempts=attempts)
    assert state.abandoned is not None and state.score is None
    assert (state.abandoned.kind, unscored_group(state)) == ("judge_failed", "no_verdict")
    assert "not decided: must_do 1" in state.abandoned.reason
    judged = [event for event in history.events if isinstance(event, Judged)]
    assert [event.final for event in judged] == [False] * (attempts - 1) + [True]
    assert judged[-1].verdict is not None and judged[-1].problem is not None


def test_what_a_judge_decides_beside_a_void_item_counts_for_the_other_items() -> None:
    state, _ = driven([VOID, VOID], [WHOLE], [WHOLE])
    assert state.score is not None and state.score.passed
    state, _ = driven([VOID, VOID], [WHOLE], rule="unanimous")
    assert unscored_group(state) == "no_verdict"


def test_votes_that_differ_lose_nothing_and_have_a_name_of_their_own() -> None:
    rude = {**WHOLE, "must_not_do.1": {"quote": "Good morning", "verdict": "present"}}
    state, _ = driven([WHOLE], [rude])
    assert state.abandoned is not None
    assert (state.abandoned.kind, unscored_group(state)) == ("judges_disagree", "undecided")
    assert state.abandoned.reason == "not decided: must_not_do 1; decided: must_do 1 happened"
    state, _ = driven([WHOLE], [rude], rule="unanimous_or_people")
    assert state.abandoned is not None and state.score is None
    assert (state.abandoned.kind, unscored_group(state)) == ("awaiting_review", "awaiting_people")


def test_a_judge_that_says_nothing_at_last_has_no_vote_left() -> None:
    state, _ = driven([VOID, None])
    assert unscored_group(state) == "no_verdict"


@pytest.mark.parametrize("ended", ["length", "content_filter", "something else"])
def test_a_judge_s_reply_that_more_could_have_followed_gives_no_verdict(ended: str) -> None:
    """Whatever whole verdict stands in it, and whatever the dialect."""
    transcript = Transcript((ModelReply(0, SAID, "stop"),))
    whole = read_judgement(DIALECT, CASE, ReadJudgement("j", transcript, _as(WHOLE, "stop"), True))
    assert whole.verdict is not None and whole.problem is None
    cut = read_judgement(DIALECT, CASE, ReadJudgement("j", transcript, _as(WHOLE, ended), True))
    assert cut.verdict is None and cut.problem is not None


def _as(items: dict[str, Any], finish_reason: str) -> ModelReply:
    return ModelReply(0, _reply(items), finish_reason)
