"""Gradings: which are done in this process, how long those may take, and what stops the others."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import pytest

from failproof_es.core.case import Case, Turn
from failproof_es.core.evaluation import (
    GRADING_STOPPED,
    NO_JUDGES,
    Evaluation,
    Judging,
    ModelReply,
    Send,
    Transcript,
    fold,
)
from failproof_es.core.unscored import unscored_group
from failproof_es.dialects import shipped
from failproof_es.dialects.protocol import Dialect, HasBoundedGrading, ReadsJudges
from failproof_es.dialects.registry import dialect_named, names
from failproof_es.engine.drive.grading import grader as grading
from failproof_es.engine.drive.grading.grader import (
    MOST_CHARACTERS,
    Grader,
    pool_for,
)
from failproof_es.engine.drive.grading.steps import Steps, Task, take_steps, take_steps_in_child
from failproof_es.engine.replays.rederiving import rederive
from failproof_es.engine.replays.regrading import rederive_within_limits
from failproof_es.events import EvaluationEvent, Event
from failproof_es.problems import Problems
from failproof_es.support.bounded.running_child import Limits
from failproof_es.testing.evaluations import JUDGE, KEY, stages
from tests.growth.texts import WORST
from tests.machine import is_computed_within
from tests.plugin_packages import install, look_again
from tests.unit.histories import History, a_case

MOST_CPU_S = 1.0
"""Of one grading in this process: the slowest takes 14 ms, and a tenth of a second when its own
patterns are compiled first."""


def example(name: str) -> Case:
    """The first case of the dialect's example."""
    folder = Path(shipped.__file__).parent / name
    files = [file for file in folder.glob("new_suite.*") if file.suffix != ".txt"]
    return next(iter(dialect_named(name).load(files, Problems())))


def bounded_dialects() -> list[str]:
    return [name for name in names() if isinstance(dialect_named(name), HasBoundedGrading)]


def filled(case: Case, unit: str) -> str:
    """As much of the unit as an answer may be long that is graded in this process."""
    text = unit * MOST_CHARACTERS
    return text[: MOST_CHARACTERS - grading._characters(case, ())]


def _grade(dialect: Dialect, case: Case, reply: ModelReply) -> None:
    transcript = Transcript((reply,))
    classification = dialect.classify(case, transcript)
    dialect.judge_messages(case, transcript)
    if isinstance(dialect, ReadsJudges):
        dialect.read_judgement(case, transcript, reply)
    else:
        dialect.score(case, classification, None)


@pytest.mark.parametrize("name", bounded_dialects())
def test_whatever_is_graded_in_this_process_is_graded_soon(name: str) -> None:
    dialect, case = dialect_named(name), example(name)
    grader = Grader(dialect, NO_JUDGES, 0)
    for unit in WORST:
        reply = ModelReply(0, filled(case, unit), "stop")
        assert grader.is_bounded(case, [reply]) or name in ("failproof", "checks")
        assert is_computed_within(MOST_CPU_S, partial(_grade, dialect, case, reply)), unit
        longer = replace(reply, text=reply.text + "x")
        assert not grader.is_bounded(case, [longer])


def test_what_a_judge_said_counts_as_well() -> None:
    case = example("benchmark")
    grader, reply = Grader(dialect_named("benchmark"), NO_JUDGES, 0), ModelReply(0, "x", "stop")
    assert grader.is_bounded(case, [reply], [reply])
    assert not grader.is_bounded(case, [reply], [ModelReply(0, "x" * MOST_CHARACTERS, "stop")])


def states(name: str, text: str) -> Iterator[Evaluation]:
    """Every state of an evaluation of the dialect's example."""
    dialect = dialect_named(name)
    judged = (lambda messages: '{"score": 0.5}') if isinstance(dialect, ReadsJudges) else None
    return stages(dialect, example(name), lambda turn: ModelReply(turn, text, "stop"), judged)


def comparable(events: Sequence[EvaluationEvent]) -> list[Any]:
    return [(type(event), event.model_dump(exclude={"timestamp"})) for event in events]


@pytest.mark.parametrize("name", names())
@pytest.mark.thinned(whole=2)
def test_a_child_grades_as_this_process_does(name: str) -> None:
    dialect, case = dialect_named(name), example(name)
    judging = Judging((JUDGE,) if isinstance(dialect, ReadsJudges) else (), "majority", 1)
    grader = Grader(dialect, judging, 0)
    pool = pool_for(take_steps_in_child, grading.LIMITS, grader)
    for text in ("ls -l `and so on`", "x" * 20_000):
        for state in states(name, text):
            task = Task(KEY, case, state, 0, judging, None, None)
            here, there = take_steps(dialect, (), task), pool.call(task)
            assert comparable(there.events) == comparable(here.events)
            assert there.action == here.action
    pool.close()
    grading._pool.cache_clear()


def test_the_next_request_of_joined_messages_needs_no_child(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: Any) -> NoReturn:
        raise AssertionError("a child was asked")

    monkeypatch.setattr(grading, "pool_for", refuse)
    dialect = dialect_named("redteam")
    one = example("redteam")
    case = one.model_copy(update={"turns": (Turn(role="user", content="x" * 20_000),) * 3})
    grader = Grader(dialect, NO_JUDGES, 0)
    for state in stages(dialect, case, lambda turn: ModelReply(turn, "y", "stop")):
        if state.in_flight is None and len(state.replies) < 3:
            action = asyncio.run(grader.advance(KEY, case, state)).action
            assert isinstance(action, Send)
            assert action.turn == len(state.replies)


ENDLESS = """
from failproof_es.dialects.shipped.failproof import FailProof

class Endless(FailProof):
    name = "endless"
    grading_is_bounded = None

    def classify(self, case, transcript):
        while case.case_id == "endless":
            pass
        return super().classify(case, transcript)
"""


@pytest.fixture
def endless(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Dialect]:
    """A dialect that never comes to a class of one of its cases."""
    offered = {"failproof_es.dialects": {"endless": "endless_dialect:Endless"}}
    install(monkeypatch, tmp_path, "endless", offered, {"endless_dialect": ENDLESS})
    monkeypatch.setattr(grading, "LIMITS", Limits(0.2, 60.0, 2**32))
    yield dialect_named("endless")
    monkeypatch.undo()
    look_again()


def answered(case_id: str) -> tuple[Case, list[Event]]:
    case = a_case().model_copy(update={"case_id": case_id})
    return case, list(History().sent().answered("yes").events)


def test_a_grading_that_does_not_end_is_stopped_and_lost_and_holds_up_nothing(
    endless: Dialect,
) -> None:
    grader = Grader(endless, NO_JUDGES, 0)
    case, history = answered("endless")
    ordinary, its_history = answered("ordinary")
    turns = 0

    async def tick() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0.002)

    async def grade() -> list[Steps]:
        ticking = asyncio.create_task(tick())
        graded = await asyncio.gather(
            *(grader.advance(KEY, ordinary, fold(its_history)) for _ in range(3)),
            grader.advance(KEY, case, fold(history)),
            *(grader.advance(KEY, ordinary, fold(its_history)) for _ in range(3)),
        )
        ticking.cancel()
        return graded

    graded = asyncio.run(grade())
    topics = [[type(event).__name__ for event in steps.events] for steps in graded]
    stopped = topics.pop(3)
    assert topics == [["Classified", "Scored"]] * 6, "its neighbours are graded"
    assert stopped == ["Classified", "EvaluationAbandoned"]
    assert turns > 20, "the event loop goes on meanwhile"
    whole = [*history, *graded[3].events]
    state = fold(whole)
    assert graded[3].state == state
    assert graded[0].state == fold([*its_history, *graded[0].events])
    assert state.abandoned is not None and unscored_group(state) == "grading_stopped"
    assert state.abandoned.kind == GRADING_STOPPED
    assert "more than 0.2 s of processor time" in state.abandoned.reason
    again, disagreements, _ = rederive(case, whole, endless, retry_attempts=0)
    assert (unscored_group(again), disagreements) == ("grading_stopped", []), "a replay believes it"
    assert rederive_within_limits(grader, case, whole, retry_attempts=0)[1] == []


def test_a_grading_that_the_answer_made_stop_fails_where_that_is_configured(
    endless: Dialect,
) -> None:
    grader = Grader(endless, NO_JUDGES, 0, {"grading": {"on_cut_off": "fail"}})
    case, history = answered("endless")
    steps = asyncio.run(grader.advance(KEY, case, fold(history)))
    whole = [*history, *steps.events]
    state = fold(whole)
    assert state.score is not None
    assert (state.score.passed, state.score.scores) == (False, {"accuracy": 0.0})
    assert state.score.reason.startswith("failed by grading.on_cut_off: the grading was stopped: ")
    assert rederive_within_limits(grader, case, whole, retry_attempts=0)[1] == []
    assert rederive(case, whole, endless, retry_attempts=0)[1] != [], "another run may not reuse it"


def test_a_replay_that_is_stopped_itself_says_so(
    endless: Dialect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "failproof_es.engine.replays.regrading.REPLAY_LIMITS", Limits(0.2, 60.0, 2**32)
    )
    grader = Grader(endless, NO_JUDGES, 0)
    case, history = answered("endless")
    as_ordinary, _ = answered("ordinary")
    steps = asyncio.run(grader.advance(KEY, as_ordinary, fold(history)))
    [disagreement] = rederive_within_limits(
        grader, case, [*history, *steps.events], retry_attempts=0
    ).disagreements
    assert disagreement.what == "grading"
    assert "more than 0.2 s" in disagreement.derived["stopped"]
