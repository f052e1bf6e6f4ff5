"""Putting on record a verdict that none of the run's judges gave: a program's, by name.

It is appended as a `Judged` of its own, so the record says who judged, and replay takes it
for what it is: given, not decided.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from failproof_es.dialects.protocol import Dialect
from failproof_es.dialects.scorers import Scorer, grade
from failproof_es.engine.identity import holder
from failproof_es.engine.recorded import RecordedEvaluation, read_evaluations
from failproof_es.evaluation import (
    Evaluation,
    EvaluationKey,
    Failure,
    Judgement,
    JudgeVerdict,
    Rule,
    Transcript,
    evolve,
)
from failproof_es.events import (
    AttemptLost,
    EvaluationAbandoned,
    EvaluationEvent,
    Judged,
    Scored,
)
from failproof_es.problems import InvalidInput
from failproof_es.store.journal import Journal
from failproof_es.store.lease import Lease
from failproof_es.store.store import Store

VERSION = "1"


async def record_outside_verdict(
    store: Store,
    key: EvaluationKey,
    dialect: Dialect,
    *,
    rule: Rule,
    judge: str,
    verdict: dict[str, Any] | None,
    problem: str | None,
    epoch: int | None = None,
    scorers: Sequence[Scorer] = (),
) -> None:
    """Judge an evaluation that waits for its judge: by a verdict, or by why there is none.

    `epoch` is that of the lease under which this process drives the run; it must not be asking
    judges. `scorers` are the run's. Raises `RunBusy` while another one drives it, `InvalidInput`
    when the evaluation does not wait for a judge.
    """
    given = JudgeVerdict(judge, verdict, problem)
    if epoch is not None:
        await _record(store, key, epoch, dialect, scorers, Judgement(rule, (given,)))
        return
    with Lease(store.url, key.run_id, holder()) as lease:
        await asyncio.to_thread(lease.acquire)
        await _record(store, key, lease.epoch, dialect, scorers, Judgement(rule, (given,)))


async def _record(
    store: Store,
    key: EvaluationKey,
    epoch: int,
    dialect: Dialect,
    scorers: Sequence[Scorer],
    judgement: Judgement,
) -> None:
    with store.connect() as connection:
        recorded = read_evaluations(connection, [key])[0]
    events = _events(recorded, dialect, scorers, judgement)
    journal = Journal(store.log, lease=(key.run_id, epoch), outage=store.outage)
    try:
        await journal.append(*events)
    finally:
        await journal.close()


def _events(
    recorded: RecordedEvaluation,
    dialect: Dialect,
    scorers: Sequence[Scorer],
    judgement: Judgement,
) -> list[EvaluationEvent]:
    state = recorded.state()
    if state.finished or state.classification is None or state.verdicts:
        raise InvalidInput.because(
            f"the answer of {recorded.key.model_key} to {recorded.case.case_id} does not wait "
            "for a judge",
            remedy="load it again: the record says how it stands",
        )
    events: list[EvaluationEvent] = []

    def add(event: EvaluationEvent) -> None:
        nonlocal state
        events.append(event)
        state = evolve(state, event)

    if (asked := state.in_flight) is not None:
        add(
            AttemptLost(
                **_stamp(recorded.key, state), purpose=asked.purpose, judge=asked.judge,
                turn=asked.turn, attempt=asked.attempt,
                reason="a verdict from outside came before its outcome",
            )
        )  # fmt: skip
    given = judgement.verdicts[0]
    add(
        Judged(
            **_stamp(recorded.key, state), judge=given.judge, verdict=given.verdict,
            problem=given.problem, final=True, grader=given.judge, grader_version=VERSION,
        )
    )  # fmt: skip
    classification = state.classification
    assert classification is not None
    score = (
        Failure("judge_failed", f"{given.judge}: {given.problem}")
        if given.verdict is None
        else grade(
            dialect, scorers, recorded.case, Transcript(state.replies), classification, judgement
        )
    )
    stamp = _stamp(recorded.key, state)
    if isinstance(score, Failure):
        add(EvaluationAbandoned(**stamp, kind=score.kind, reason=score.message))
    else:
        add(
            Scored(
                **stamp, scores=score.scores, passed=score.passed, graders=score.graders,
                reason=score.reason, scorer=score.scorer, scorer_version=score.version,
            )
        )  # fmt: skip
    return events


def _stamp(key: EvaluationKey, state: Evaluation) -> dict[str, Any]:
    return {
        "originator_id": key.evaluation_id,
        "originator_version": state.version + 1,
        "run_id": key.run_id,
        "timestamp": datetime.now(UTC),
        "prompt_id": key.prompt_id,
        "model_key": key.model_key,
        "repetition": key.repetition,
    }
