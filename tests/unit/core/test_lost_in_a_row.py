"""A run pauses at the evaluations in a row that one model or judge gave no usable reply for."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from types import SimpleNamespace
from typing import Any, cast
from uuid import UUID

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


def of_other_cases(evaluations: Iterable[Evaluation]) -> Iterator[Evaluation]:
    """Each evaluation, as if it were of a case of its own."""
    for number, evaluation in enumerate(evaluations):
        yield evaluation._replace(prompt_id=UUID(int=number))


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
    *before, last = of_other_cases((mute, mute, judged(a=None, b=None), mute, mute, mute))
    assert not any(map(lost.add, before))
    assert lost.add(last) == (
        "b: no usable reply for 3 evaluations in a row (`execution.pause_after_lost`), the last "
        "one: no_object"
    )


def test_an_answer_of_the_model_ends_its_count_and_a_withheld_one_is_an_answer() -> None:
    assert problems_of(UNANSWERED) == {"m": "too slow"}
    assert problems_of(WITHHELD) == problems_of(ASKED) == {"m": None}
    lost = LostInARow(2)
    evaluations = (UNANSWERED, WITHHELD, UNANSWERED, judged(a=None), UNANSWERED, UNANSWERED)
    *before, last = of_other_cases(evaluations)
    assert not any(map(lost.add, before))
    assert lost.add(last) is not None


def test_repetitions_of_one_case_pause_only_a_run_without_another_case() -> None:
    lost = LostInARow(3)
    assert not any(lost.add(UNANSWERED) for _ in range(5))
    assert lost.add(UNANSWERED._replace(prompt_id=UUID(int=1))) is not None
    alone = LostInARow(3)
    assert [alone.add(UNANSWERED, is_only_case=True) is not None for _ in range(3)] == [
        False,
        False,
        True,
    ]


def test_what_this_run_did_not_ask_counts_for_nobody() -> None:
    assert problems_of(UNANSWERED._replace(request=None)) == {}


def test_null_never_pauses() -> None:
    assert not any(map(LostInARow(None).add, of_other_cases([UNANSWERED] * 20)))


def test_a_drive_stops_at_the_count_and_ends_what_is_in_flight() -> None:
    """Two evaluations at a time: when the third has ended, the fourth is in flight."""
    jobs = iter(range(20))
    finished: list[Evaluation] = []

    async def next_job() -> Any:
        return SimpleNamespace(key=next(jobs), case=None, history=None)

    async def evaluate(*job: Any) -> Evaluation:
        await asyncio.sleep(0)
        return next(evaluations)

    evaluations = of_other_cases([UNANSWERED] * 20)

    async def drive() -> EvaluationDrive:
        unused: Any = None
        run: Any = SimpleNamespace(started=SimpleNamespace(planned_cases=20))
        targets: Any = SimpleNamespace(lost=LostInARow(3))
        driving = EvaluationDrive(
            run, unused, targets, unused, unused, Hooks(unused), asyncio.Event()
        )
        work: Any = driving._drive_queue
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
