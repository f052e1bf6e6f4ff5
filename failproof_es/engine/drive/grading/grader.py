"""Grades answers: in this process if the work is bounded by construction, else in a child.

All code that reads answers runs here: a dialect's next request, classes, verdicts, scores, scorers.
A grading runs in this process if the dialect says that it is quick for short texts
(`HasBoundedGrading`), no installed scorer takes part, and the case and all answers together have at
most `MOST_CHARACTERS`. A test tries to exceed a tenth of a second with them. The next request of a
dialect that only joins messages (`JoinsMessages`) is made in this process, too, however long.

Every other grading runs in a child process within `LIMITS`, and can be killed. A stopped grading
ends its evaluation as `grading_stopped`, without a score and counted as lost. With
`grading.on_cut_off: fail` the evaluation fails instead, if the grading read nothing but the model's
answer.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import orjson

from failproof_es.core.case import Case
from failproof_es.core.evaluation import (
    GRADING_STOPPED,
    Classification,
    Defer,
    Done,
    Evaluation,
    EvaluationKey,
    Failure,
    Judging,
    ModelReply,
    Send,
    Transcript,
    WaitBudget,
    evolve,
    fold,
    lost_request,
)
from failproof_es.dialects.kit import cut_off
from failproof_es.dialects.protocol import (
    Dialect,
    HasBoundedGrading,
    failing_scores,
    joins_messages,
    waits_for_programs,
)
from failproof_es.dialects.registry import dialect_named
from failproof_es.dialects.scorers import Scorer, scorers_of
from failproof_es.engine.drive.grading.local_actions import (
    LocalAction,
    classified,
    derive_event,
    ended,
)
from failproof_es.engine.drive.grading.steps import (
    Steps,
    Task,
    decide,
    graders_of,
    take_steps,
    take_steps_in_child,
)
from failproof_es.events import Classified, EvaluationEvent
from failproof_es.store.writing.event_header import EventHeader
from failproof_es.support.bounded.messages import LimitExceeded
from failproof_es.support.bounded.process import BoundedPool
from failproof_es.support.bounded.running_child import Limits
from failproof_es.support.cores import usable_cores

MOST_CHARACTERS = 8_000
LIMITS = Limits(cpu_s=10.0, wait_s=60.0, memory_bytes=4 * 2**30)
"""Limits of one grading: some thousand times the use of an ordinary grading."""
_MOST_PROCESSES = 4
_NICE = 2
"""Children yield to the event loop, which measures how long servers take."""
_GRADER = ("failproof_es.grading", "1")


@dataclass(frozen=True)
class Grader:
    """Grades the evaluations of one run, by `grading` in its configuration."""

    dialect: Dialect
    judging: Judging
    retry_attempts: int
    configuration: Mapping[str, Any] = field(default_factory=dict)
    scorers: Sequence[Scorer] = field(init=False)
    cut_off_fails: bool = field(init=False)
    _bounded: HasBoundedGrading | None = field(init=False)
    """The dialect, if it is a `HasBoundedGrading`. Checked once: most gradings are faster than
    that."""

    def __post_init__(self) -> None:
        dialect: object = self.dialect
        bounded = dialect if isinstance(dialect, HasBoundedGrading) else None
        object.__setattr__(self, "_bounded", bounded)
        object.__setattr__(self, "scorers", scorers_of(self.configuration))
        object.__setattr__(self, "cut_off_fails", cut_off.fails(self.configuration))

    async def advance(
        self,
        key: EvaluationKey,
        case: Case,
        state: Evaluation,
        *,
        wait_budget: WaitBudget | None = None,
        first: LocalAction | None = None,
    ) -> Steps:
        """Take all steps of an evaluation that need no request to a model.

        `state` is the evaluation so far, `first` the first step if it is decided already,
        `wait_budget` the limit of waiting for a server that refuses (`None` before the first
        request). Nothing is recorded: the caller records the returned events and performs the
        action.
        """
        if first is None and (lost := lost_request(state)) is not None:
            event = derive_event(self.dialect, EventHeader.of_evaluation(key), state, case, lost)
            steps = await self.advance(key, case, evolve(state, event), wait_budget=wait_budget)
            return Steps([event, *steps.events], steps.action, steps.state)
        task = Task(
            key,
            case,
            state,
            self.retry_attempts,
            self.judging,
            wait_budget,
            first,
            self.cut_off_fails,
        )
        of_judge = () if state.judge_reply is None else (state.judge_reply,)
        if not state.version or self.is_bounded(case, state.replies, of_judge):
            return take_steps(self.dialect, self.scorers, task)
        if first is None and (action := self._next_request(task)) is not None:
            return Steps([], action, state)
        pool = pool_for(take_steps_in_child, LIMITS, self)
        try:
            graded: Steps = await asyncio.wrap_future(pool.submit(task))
        except LimitExceeded as stopped:
            return _stopped_steps(self.dialect, task, f"the grading was stopped: {stopped}")
        return replace(graded, state=fold(graded.events, state))

    def _next_request(self, task: Task) -> Send | Defer | None:
        """The next request of a conversation whose messages are only joined.

        `None` if the next step is a grading, or if the dialect does more than join messages.
        """
        if task.state.classification is not None or not joins_messages(self.dialect):
            return None
        action = decide(self.dialect, task, task.state)
        return action if isinstance(action, Send | Defer) else None

    def is_bounded(
        self, case: Case, replies: Sequence[ModelReply], of_judges: Sequence[ModelReply] = ()
    ) -> bool:
        """Whether a grading that reads these replies may run in this process.

        True if no scorer takes part, the texts are short, and the dialect says that it grades them
        quickly. `replies` are the model's, `of_judges` the judges'.
        """
        if self.scorers or self._bounded is None:
            return False
        if _characters(case, (*replies, *of_judges)) > MOST_CHARACTERS:
            return False
        return self._bounded.grading_is_bounded(case, Transcript(tuple(replies)))


def _stopped_steps(dialect: Dialect, task: Task, reason: str) -> Steps:
    """The steps that end an evaluation whose grading was stopped for `reason`: without a score, or
    with a failing one under `grading.on_cut_off: fail` if the grading read nothing but the model's
    answer. It has read nothing else if no judge was asked yet."""
    header = EventHeader.of_evaluation(task.key)
    state = task.state
    events: list[EvaluationEvent] = []
    if state.classification is None:
        details = {"rule": GRADING_STOPPED, "message": reason}
        events.append(classified(header, state, Classification("error", details, *_GRADER)))
        state = evolve(state, events[-1])
    stopped = Failure(GRADING_STOPPED, reason)
    fails = task.cut_off_fails and isinstance(state.last, Classified) and not state.has_failed
    end = cut_off.failed(stopped, failing_scores(dialect)) if fails else stopped
    events.append(ended(header, state, end))
    return Steps(events, Done(), evolve(state, events[-1]))


def _characters(case: Case, replies: Sequence[ModelReply]) -> int:
    count = len(repr(case.expectation)) + sum(len(turn.content) for turn in case.turns)
    for reply in replies:
        count += len(reply.text) + len(reply.refusal or "")
        count += sum(len(call.name) + len(call.arguments) for call in reply.tool_calls)
    return count


# -- children --------------------------------------------------------------------------------


def pool_for(
    function: Callable[[str, bytes, Any], Any],
    limits: Limits,
    grader: Grader,
) -> BoundedPool:
    """A pool of child processes that call `function(name, grading, argument)`.

    `name` is the dialect's name, `grading` the section of the run's configuration as JSON:
    `graders_of` finds the dialect and the scorers by them. Runs of this process with the same
    dialect and `grading` share the pool.
    """
    grading = orjson.dumps(grader.configuration.get("grading") or {})
    return _pool(function, limits, grader.dialect.name, grading, tuple(sys.path))


@lru_cache(maxsize=8)
def _pool(
    function: Callable[[str, bytes, Any], Any],
    limits: Limits,
    name: str,
    grading: bytes,
    _path: tuple[str, ...],
) -> BoundedPool:
    return BoundedPool(
        function,
        limits,
        context=(name, grading),
        prepare=graders_of,
        processes=min(usable_cores(), _MOST_PROCESSES),
        in_threads=waits_for_programs(dialect_named(name)),
        nice=_NICE,
    )
