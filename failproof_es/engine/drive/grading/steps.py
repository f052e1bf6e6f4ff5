"""Takes the steps of an evaluation that need no request. All that a child for gradings imports.

A child costs what its imports cost: this module needs neither asyncio nor what sends requests.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import orjson

from failproof_es.core.case import Case
from failproof_es.core.evaluation import (
    Action,
    Defer,
    Done,
    Evaluation,
    EvaluationKey,
    Judging,
    Send,
    WaitBudget,
    evolve,
    next_action,
)
from failproof_es.dialects.protocol import Dialect
from failproof_es.dialects.registry import dialect_named
from failproof_es.dialects.scorers import Scorer, scorers_of
from failproof_es.engine.drive.grading.local_actions import LocalAction, derive_event
from failproof_es.events import EvaluationEvent
from failproof_es.store.writing.event_header import EventHeader


@dataclass(frozen=True, slots=True)
class Steps:
    """Events that follow from the record without a request, and the action after them."""

    events: list[EvaluationEvent]
    action: Send | Defer | Done
    state: Evaluation
    """The evaluation after the events."""


@dataclass(frozen=True, slots=True)
class Task:
    """The input of one grading, as it is sent to a child process."""

    key: EvaluationKey
    case: Case
    state: Evaluation
    retry_attempts: int
    judging: Judging
    wait_budget: WaitBudget | None
    first: LocalAction | None
    """The first action, if it is decided already; `next_action` decides the others."""
    cut_off_fails: bool = False
    """Whether the run has `grading.on_cut_off: fail`."""


def take_steps(dialect: Dialect, scorers: Sequence[Scorer], task: Task) -> Steps:
    """Decide and derive, step by step, until a request is due or nothing is left to do."""
    header = EventHeader.of_evaluation(task.key)
    state, action = task.state, task.first
    events: list[EvaluationEvent] = []
    while True:
        following = action or decide(dialect, task, state)
        if not isinstance(following, LocalAction):
            return Steps(events, following, state)
        event = derive_event(
            dialect,
            header,
            state,
            task.case,
            following,
            scorers,
            cut_off_fails=task.cut_off_fails,
        )
        events.append(event)
        state = evolve(state, event)
        action = None


def decide(dialect: Dialect, task: Task, state: Evaluation) -> Action:
    """The next action of the evaluation that `task` describes, from `state` on."""
    return next_action(
        state,
        task.case,
        dialect,
        retry_attempts=task.retry_attempts,
        judging=task.judging,
        wait_budget=task.wait_budget,
    )


@lru_cache(maxsize=1)
def graders_of(name: str, grading: bytes) -> tuple[Dialect, Sequence[Scorer]]:
    """In a child: the dialect of this name, and the scorers of a run.

    `grading` is the section `grading` of the run's configuration, as JSON.
    """
    return dialect_named(name), scorers_of({"grading": orjson.loads(grading)})


def take_steps_in_child(name: str, grading: bytes, task: Task) -> Steps:
    """`take_steps`, as a child process calls it: with the dialect's name, and `grading` as JSON.

    Returns an empty state, because the state repeats all replies.
    """
    dialect, scorers = graders_of(name, grading)
    return replace(take_steps(dialect, scorers, task), state=Evaluation())
