"""Derives recorded evaluations again within limits, as `drive/grading/grader.py` grades."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from failproof_es.core.case import Case
from failproof_es.core.evaluation import Judging, ModelReply, fold
from failproof_es.engine.drive.grading.grader import LIMITS, Grader, pool_for
from failproof_es.engine.drive.grading.steps import graders_of
from failproof_es.engine.replays.rederiving import Disagreement, RederivedEvaluation, rederive
from failproof_es.events import AnswerImported, Event, ResponseReceived
from failproof_es.support.bounded.messages import LimitExceeded
from failproof_es.support.bounded.running_child import Limits

REPLAY_LIMITS = Limits(6 * LIMITS.cpu_s, LIMITS.wait_s, LIMITS.memory_bytes)
"""Limits for all gradings of one evaluation: higher than at first, so that a replay is not stopped
where no grading was."""


@dataclass(frozen=True, slots=True)
class _RegradingInput:
    """The input of a child process: a recorded evaluation."""

    case: Case
    history: tuple[Event, ...]
    retry_attempts: int
    judging: Judging
    cut_off_fails: bool


def rederive_within_limits(
    grader: Grader, case: Case, history: Sequence[Event], *, retry_attempts: int
) -> RederivedEvaluation:
    """Derive a recorded evaluation again as `rederive` does, within limits of time and memory.

    `retry_attempts` is the number of retries after which the run gives up. A derivation that is
    stopped gives a disagreement. Raises `ImpossibleHistory` if the history cannot be true.
    """
    if grader.is_bounded(case, list(_replies(history, "target")), list(_replies(history, "judge"))):
        return rederive(
            case,
            history,
            grader.dialect,
            retry_attempts=retry_attempts,
            judging=grader.judging,
            scorers=grader.scorers,
            cut_off_fails=grader.cut_off_fails,
        )
    pool = pool_for(_rederive, REPLAY_LIMITS, grader)
    recorded = _RegradingInput(
        case, tuple(history), retry_attempts, grader.judging, grader.cut_off_fails
    )
    try:
        rederived: RederivedEvaluation = pool.call(recorded)
    except LimitExceeded as stopped:
        stop = Disagreement("grading", {}, {"stopped": str(stopped)})
        return RederivedEvaluation(fold(history), [stop])
    return rederived


def _replies(history: Sequence[Event], purpose: str) -> Iterator[ModelReply]:
    """All replies of the model under test (`purpose` is `target`) or of the judges (`judge`), in
    order."""
    for event in history:
        if isinstance(event, ResponseReceived) and event.purpose == purpose:
            yield ModelReply(
                event.turn,
                event.text,
                event.finish_reason,
                event.refusal,
                tool_calls=event.tool_calls,
            )
        elif isinstance(event, AnswerImported) and purpose == "target":
            for turn, reply in enumerate(event.replies):
                yield ModelReply(
                    turn,
                    reply.text,
                    reply.finish_reason,
                    reply.refusal,
                    tool_calls=reply.tool_calls,
                )


def _rederive(name: str, grading: bytes, recorded: _RegradingInput) -> RederivedEvaluation:
    """`rederive`, as a child process calls it: with the dialect's name, and `grading` as JSON."""
    dialect, scorers = graders_of(name, grading)
    return rederive(
        recorded.case,
        recorded.history,
        dialect,
        retry_attempts=recorded.retry_attempts,
        judging=recorded.judging,
        scorers=scorers,
        cut_off_fails=recorded.cut_off_fails,
    )
