"""The pure core as given / when / then: these events are on record, this comes next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, cast
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from failproof_es.core.evaluation import (
    Abandon,
    Action,
    Classify,
    DeclareOrphaned,
    Defer,
    Done,
    Failure,
    ImpossibleHistory,
    JudgeVerdict,
    Judging,
    ModelReply,
    ReadJudgement,
    ScoreReply,
    Send,
    WaitBudget,
    fold,
    next_action,
)
from failproof_es.dialects.protocol import Dialect
from failproof_es.engine.replays.rederiving import Disagreement, rederive
from failproof_es.events import (
    VOIDS_ANSWER,
    EvaluationAbandoned,
    Event,
    Judged,
    ResponseReceived,
    RunPaused,
    Scored,
)
from tests.every import every
from tests.unit.event_samples import SAMPLES
from tests.unit.histories import BEGIN, KEY, History, PlainDialect, a_case, lived

RETRIES = 2


def after(
    history: History, *, judges: tuple[str, ...] = (), turns: tuple[str, ...] = ("hello",)
) -> Action:
    return next_action(
        fold(history.events),
        a_case(*turns),
        PlainDialect(judged=bool(judges)),
        retry_attempts=RETRIES,
        judging=Judging(judges, attempts=2),
    )


def sends(action: Action, purpose: str = "target", turn: int = 0, attempt: int = 1) -> bool:
    return isinstance(action, Send) and (action.purpose, action.turn, action.attempt) == (
        purpose,
        turn,
        attempt,
    )


def test_given_nothing_then_the_first_turn_is_sent() -> None:
    assert sends(after(History()))


def test_given_a_request_without_outcome_then_it_is_declared_lost() -> None:
    action = after(History().sent())
    assert isinstance(action, DeclareOrphaned) and action.request.attempt == 1


def test_given_a_lost_attempt_then_attempt_two_is_sent() -> None:
    assert sends(after(History().sent().lost()), attempt=2)


def test_orphaned_requests_do_not_use_up_the_retry_bound() -> None:
    history = History()
    for attempt in range(1, 8):
        history.sent(attempt).lost(attempt)
    assert sends(after(history), attempt=8)


def test_given_a_reply_then_it_is_classified_then_scored_then_done() -> None:
    history = History().sent().answered("hi")
    action = after(history)
    assert isinstance(action, Classify) and action.transcript.replies[0].text == "hi"
    assert isinstance(after(history.classified()), ScoreReply)
    assert isinstance(after(history.scored()), Done)


def test_given_a_transient_error_then_the_next_attempt_waits_as_told() -> None:
    action = after(History().sent().failed(retry_after_s=7.0))
    assert sends(action, attempt=2)
    assert isinstance(action, Send) and action.failures == 1 and action.last_error is not None


def test_given_more_transient_errors_than_the_bound_then_it_is_an_error_without_a_score() -> None:
    history = History()
    for attempt in range(1, RETRIES + 2):
        assert sends(after(history), attempt=attempt)
        history.sent(attempt).failed(attempt)
    action = after(history)
    assert isinstance(action, Classify) and action.transcript.failure is not None
    assert isinstance(after(history.classified("error")), Abandon)
    assert isinstance(after(history.abandoned()), Done)


def test_given_no_retries_allowed_then_one_transient_error_is_final() -> None:
    state = fold(History().sent().failed().events)
    assert isinstance(next_action(state, a_case(), PlainDialect(), retry_attempts=0), Classify)


def test_given_any_number_of_requests_turned_away_then_no_attempt_is_used_up() -> None:
    history = History()
    for attempt in range(1, 50):
        assert sends(after(history), attempt=attempt)
        history.sent(attempt).failed(attempt, "deferred")
    for attempt in range(50, 51 + RETRIES):
        assert sends(after(history), attempt=attempt)
        history.sent(attempt).failed(attempt, "transient")
    assert isinstance(after(history), Classify), "errors of the request itself still do"


def test_given_a_question_turned_away_for_too_long_then_it_is_put_off_and_not_given_up() -> None:
    history = History().sent().failed(1, "deferred")
    first = history.events[-1].timestamp

    def patiently(seconds: float, since: datetime) -> Action:
        return next_action(
            fold(history.events), a_case(), PlainDialect(), retry_attempts=0,
            wait_budget=WaitBudget(seconds, since),
        )  # fmt: skip

    assert sends(patiently(0.005, first), attempt=2)
    for attempt in (2, 3):
        history.sent(attempt).failed(attempt, "deferred")
    last = history.events[-1].timestamp
    waited = (last - first).total_seconds()
    assert isinstance(patiently(waited, first), Defer)
    assert sends(patiently(waited + 0.001, first), attempt=4)
    assert sends(patiently(waited, first + timedelta(milliseconds=1)), attempt=4)
    later = last + timedelta(days=1)
    assert sends(patiently(0.0, later), attempt=4), "another drive asks again"
    history.sent(4).answered(attempt=4)
    assert isinstance(patiently(0.0, first), Classify)


def test_given_an_answer_then_what_was_turned_away_before_counts_no_more() -> None:
    history = History().sent().failed(1, "deferred").sent(2).answered(attempt=2)
    state = fold(history.events)
    assert (state.deferrals, state.deferred_since, state.failures) == (0, None, 0)


def test_given_a_final_error_then_there_is_no_second_attempt() -> None:
    assert isinstance(after(History().sent().failed(disposition="final")), Classify)


def test_given_a_halting_error_then_a_resumed_run_asks_again() -> None:
    history = History()
    for attempt in range(1, 6):
        history.sent(attempt).failed(attempt, disposition="halting")
    assert sends(after(history), attempt=6)


def test_given_two_turns_then_each_is_sent_with_its_own_attempts() -> None:
    history = History().sent().failed().sent(2).answered(attempt=2)
    assert sends(after(history, turns=("a", "b")), turn=1, attempt=1)


def test_given_a_failed_second_turn_then_the_first_reply_is_kept() -> None:
    history = History().sent().answered().sent(turn=1).failed(turn=1, disposition="final")
    action = after(history, turns=("a", "b"))
    assert isinstance(action, Classify)
    assert len(action.transcript.replies) == 1 and action.transcript.failure is not None


def judged(reply: str = "yes", *, judge: str = "j1", attempt: int = 1) -> History:
    return History().sent().answered().classified().asked_judge(judge, reply, attempt)


def test_given_a_classified_reply_of_a_judged_case_then_the_judge_is_asked() -> None:
    action = after(History().sent().answered().classified(), judges=("j1",))
    assert sends(action, purpose="judge", turn=1)
    assert isinstance(action, Send) and action.judge == "j1"


def test_given_a_judges_reply_then_it_is_read_then_the_evaluation_is_scored() -> None:
    history = judged("yes")
    action = after(history, judges=("j1",))
    assert isinstance(action, ReadJudgement) and isinstance(action.answer, ModelReply)
    assert action.answer.text == "yes"
    action = after(history.judged("j1", {"pass": True}), judges=("j1",))
    assert isinstance(action, ScoreReply) and action.judgement is not None
    assert action.judgement.verdicts == (JudgeVerdict("j1", {"pass": True}),)


def test_given_a_reply_that_cannot_be_read_then_the_judge_is_asked_again_within_the_bound() -> None:
    history = judged("nonsense").judged("j1", None, final=False)
    action = after(history, judges=("j1",))
    assert sends(action, purpose="judge", turn=1, attempt=2)
    history.asked_judge("j1", "nonsense again", 2)
    action = after(history, judges=("j1",))
    assert isinstance(action, ReadJudgement) and action.last
    action = after(history.judged("j1", None), judges=("j1",))
    assert isinstance(action, Abandon) and action.failure.kind == "judge_failed"


def test_given_one_judge_done_then_the_next_one_is_asked_from_its_first_attempt() -> None:
    history = judged().judged("j1", {"pass": True})
    action = after(history, judges=("j1", "j2"))
    assert sends(action, purpose="judge", turn=1, attempt=1)
    assert isinstance(action, Send) and action.judge == "j2"


def test_given_one_of_two_judges_failed_then_the_score_hears_of_both() -> None:
    history = judged().judged("j1", {"pass": True}).asked_judge("j2", "?").judged("j2", None)
    action = after(history, judges=("j1", "j2"))
    assert isinstance(action, ScoreReply) and action.judgement is not None
    assert [verdict.verdict for verdict in action.judgement.verdicts] == [{"pass": True}, None]


def test_given_a_judge_that_fails_then_the_evaluation_is_abandoned_not_failed() -> None:
    history = History().sent().answered().classified()
    history.sent(turn=1, purpose="judge").failed(turn=1, purpose="judge", disposition="final")
    action = after(history, judges=("j1",))
    assert isinstance(action, ReadJudgement) and isinstance(action.answer, Failure)
    assert action.last
    action = after(history.judged("j1", None), judges=("j1",))
    assert isinstance(action, Abandon) and action.failure.kind == "judge_failed"


def test_given_an_answer_and_an_error_that_voids_it_then_it_is_an_error_without_a_score() -> None:
    history = History().sent().answered().failed(disposition="final", kind=VOIDS_ANSWER)
    action = after(history)
    assert isinstance(action, Classify) and action.transcript.failure is not None
    action = after(history.classified("error"))
    assert isinstance(action, Abandon)
    assert fold(history.events).usage.output_tokens == 2


def test_given_a_judgement_and_an_error_that_voids_it_then_it_is_not_scored() -> None:
    history = judged().failed(turn=1, purpose="judge", disposition="final", kind=VOIDS_ANSWER)
    action = after(history, judges=("j1",))
    assert isinstance(action, ReadJudgement) and isinstance(action.answer, Failure)


@every(
    "history",
    [
        History().answered(),
        History().lost(),
        History().sent().sent(2),
        History().sent().answered().classified().scored().scored(),
        History().sent().answered().classified().scored().sent(2),
    ],
)
def test_what_cannot_have_happened_is_refused(history: History) -> None:
    with pytest.raises(ImpossibleHistory):
        fold(history.events)


def test_a_gap_in_a_stream_is_refused() -> None:
    first, second = History().sent().lost().events
    assert first.originator_version + 1 == second.originator_version
    with pytest.raises(ImpossibleHistory):
        fold([second])


@st.composite
def worlds(draw: st.DrawFn) -> tuple[tuple[str, ...], tuple[str, ...], list[str]]:
    """A case, who judges it, and what the world does at each request."""
    turns = tuple(draw(st.lists(st.sampled_from(["a", "b"]), min_size=1, max_size=3)))
    judges = draw(st.sampled_from([(), ("j1",), ("j1", "j2", "j3")]))
    outcomes = (
        "answer", "nonsense", "another model", "transient", "deferred", "final", "halting", "killed"
    )  # fmt: skip
    return turns, judges, draw(st.lists(st.sampled_from(outcomes), max_size=30))


@given(worlds(), st.integers(min_value=0, max_value=100))
def test_folding_a_prefix_and_continuing_gives_what_the_whole_gives(
    world: tuple[tuple[str, ...], tuple[str, ...], list[str]], cut: int
) -> None:
    events = lived(*world, retries=RETRIES)
    prefix = fold(events[:cut])
    assert fold(events[cut:], prefix) == fold(events)


@given(worlds())
def test_no_answer_is_asked_for_again_and_every_evaluation_ends_once(
    world: tuple[tuple[str, ...], tuple[str, ...], list[str]],
) -> None:
    turns, judges, _ = world
    events = lived(*world, retries=RETRIES)
    answered: set[int] = set()
    for at, event in enumerate(events):
        action = after(History(events[:at]), judges=judges, turns=turns)
        if isinstance(action, Send):
            again = action.purpose == "target" and action.turn in answered
            assert not again, "a recorded answer is asked for again"
        if isinstance(event, ResponseReceived) and event.purpose == "target":
            answered.add(event.turn)
    verdicts = [e for e in events if isinstance(e, Judged) and e.verdict is not None]
    assert len({e.judge for e in verdicts}) == len(verdicts), "a judge gave two verdicts"
    finals = [e for e in events if isinstance(e, Scored | EvaluationAbandoned)]
    assert len(finals) == fold(events).finished


def replayed_otherwise(events: Sequence[Event], *turns: str) -> list[Disagreement]:
    dialect = cast(Dialect, PlainDialect())
    return rederive(a_case(*turns), events, dialect, retry_attempts=RETRIES)[1]


@given(worlds())
def test_replaying_any_history_derives_what_is_on_record(
    world: tuple[tuple[str, ...], tuple[str, ...], list[str]],
) -> None:
    turns, _, outcomes = world
    events = lived(turns, (), outcomes, retries=RETRIES)
    assert replayed_otherwise(events, *turns) == []


def test_a_429_that_an_older_version_recorded_used_up_an_attempt_and_still_does() -> None:
    history = History()
    for attempt in range(1, RETRIES + 2):
        history.sent(attempt).failed(attempt, "transient", kind="rate_limited")
    history.classified("error").abandoned("rate_limited")
    assert replayed_otherwise(history.events) == []


def test_given_an_evaluation_carried_over_then_it_is_done() -> None:
    assert isinstance(after(History().carried_over()), Done)


@every("history", [History().sent().carried_over(), History().carried_over().sent()])
def test_given_what_began_here_then_it_is_never_carried_over_too(history: History) -> None:
    with pytest.raises(ImpossibleHistory):
        fold(history.events)


def test_the_first_event_says_which_evaluation_it_is_and_when_it_began() -> None:
    begun = fold(History().sent().answered().events)
    assert (begun.run_id, begun.prompt_id) == (KEY.run_id, KEY.prompt_id)
    assert (begun.model_key, begun.repetition) == (KEY.model_key, KEY.repetition)
    assert begun.started_at == BEGIN + timedelta(milliseconds=1)
    assert begun.finished_at is None
    ended = fold(History().sent().answered().classified().scored().events)
    assert ended.started_at == begun.started_at
    assert ended.finished_at == BEGIN + timedelta(milliseconds=4)


@every(
    "other",
    [{"run_id": UUID(int=9)}, {"prompt_id": UUID(int=9)}, {"model_key": "x"}, {"repetition": 2}],
)
def test_a_prompt_a_model_and_a_repetition_have_a_stream_of_their_own(
    other: dict[str, Any],
) -> None:
    assert replace(KEY, **other).evaluation_id != KEY.evaluation_id
    [sent] = History().sent().events
    with pytest.raises(ImpossibleHistory, match="have another stream"):
        fold([sent.model_copy(update=other)])


def test_an_event_of_a_run_belongs_to_no_evaluation() -> None:
    [paused] = [event for event in SAMPLES if isinstance(event, RunPaused)]
    with pytest.raises(ImpossibleHistory, match="RunPaused does not belong to an evaluation"):
        fold([paused])
