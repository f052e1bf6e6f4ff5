"""A run pauses at the evaluations in a row that one model or judge gave no usable reply for."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

from failproof_es.core.evaluation_state import Evaluation
from failproof_es.core.lost_in_a_row import LostInARow, problems_of
from failproof_es.core.transcript import JudgeVerdict
from failproof_es.engine.drive.evaluation_drive import EvaluationDrive, Hooks
from failproof_es.engine.drive.interpreter import Halted
from failproof_es.events import ErrorRecorded, EvaluationAbandoned, Event, RequestSent


def event(of: type[Event], **fields: str) -> Any:
    """An event with these fields only: nothing else of it is read."""
    return cast(Any, of).model_construct(**fields)


ASKED = Evaluation(model_key="m", request=event(RequestSent))
UNANSWERED = ASKED._replace(
    abandoned=event(EvaluationAbandoned, kind="timeout"),
    last_error=event(ErrorRecorded, kind="timeout", message="too slow"),
)
WITHHELD = UNANSWERED._replace(abandoned=event(EvaluationAbandoned, kind="content_filter"))


def judged(**problems: str | None) -> Evaluation:
    """Answered by the model; each judge gave a verdict, or has this problem."""
    verdicts = (
        JudgeVerdict(judge, {"x": 1} if problem is None else None, problem)
        for judge, problem in problems.items()
    )
    return ASKED._replace(verdicts=tuple(verdicts))


def test_the_count_of_one_judge_is_ended_by_its_own_verdict_only() -> None:
    lost = LostInARow(3)
    mute = judged(a=None, b="no_object")
    assert [lost.add(each) for each in (mute, mute, judged(a=None, b=None), mute, mute)] == [
        None
    ] * 5
    why = lost.add(mute)
    assert why == (
        "b: no usable reply for 3 evaluations in a row (`execution.pause_after_lost`), the last "
        "one: no_object"
    )


def test_an_answer_of_the_model_ends_its_count_and_a_withheld_one_is_an_answer() -> None:
    assert problems_of(UNANSWERED) == {"m": "too slow"}
    assert problems_of(WITHHELD) == problems_of(ASKED) == {"m": None}
    lost = LostInARow(2)
    events = (UNANSWERED, WITHHELD, UNANSWERED, judged(a=None), UNANSWERED)
    assert not any(map(lost.add, events))
    assert lost.add(UNANSWERED) is not None


def test_what_this_run_did_not_ask_counts_for_nobody() -> None:
    assert problems_of(UNANSWERED._replace(request=None)) == {}


def test_null_never_pauses() -> None:
    assert not any(LostInARow(None).add(UNANSWERED) for _ in range(20))


def test_a_drive_stops_at_the_count_and_ends_what_is_in_flight() -> None:
    """Two evaluations at a time: when the third has ended, the fourth is in flight."""
    jobs = iter(range(20))
    finished: list[Evaluation] = []

    async def next_job() -> Any:
        return SimpleNamespace(key=next(jobs), case=None, history=None)

    async def evaluate(*job: Any) -> Evaluation:
        await asyncio.sleep(0)
        return UNANSWERED

    async def drive() -> EvaluationDrive:
        unused: Any = None
        targets: Any = SimpleNamespace(lost=LostInARow(3))
        driving = EvaluationDrive(
            unused, unused, targets, unused, unused, Hooks(unused), asyncio.Event()
        )
        work: Any = driving._work
        arguments = (
            SimpleNamespace(evaluate=evaluate),
            SimpleNamespace(next=next_job),
            unused,
            SimpleNamespace(add=finished.append),
            0,
        )
        await asyncio.gather(work(*arguments), work(*arguments))
        return driving

    why = asyncio.run(drive()).why(requested=False)
    assert isinstance(why, Halted) and "no usable reply for 3 evaluations in a row" in str(why)
    assert len(finished) == 4
