"""Records the verdict of a named program that is not one of the run's judges.

It is appended as its own `Judged` event, so the record says who judged. Replay takes the
verdict as given and does not derive it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from failproof_es.core.evaluation import (
    JUDGE_FAILED,
    NO_JUDGES,
    Abandon,
    EvaluationKey,
    Failure,
    Judgement,
    JudgeVerdict,
    Rule,
    ScoreReply,
    evolve,
)
from failproof_es.dialects.protocol import Dialect
from failproof_es.engine.drive.grading.grader import Grader
from failproof_es.engine.drive.orphaned_event import attempt_orphaned
from failproof_es.engine.history import RecordedEvaluation, read_evaluations
from failproof_es.engine.identity import process_label
from failproof_es.events import EvaluationEvent, Judged
from failproof_es.problems import InvalidInput
from failproof_es.store.store import Store
from failproof_es.store.writing.event_header import EventHeader
from failproof_es.store.writing.journal import Journal
from failproof_es.store.writing.lease import HeldLease, Lease

VERSION = "1"


async def record_external_verdict(
    store: Store,
    key: EvaluationKey,
    dialect: Dialect,
    *,
    rule: Rule,
    judge: str,
    verdict: dict[str, Any] | None,
    problem: str | None,
    lease: HeldLease | None = None,
    configuration: Mapping[str, Any],
) -> None:
    """Record a program's verdict on an evaluation that waits for its judge, and the score that
    follows. `judge` names the program. If `verdict` is `None`, `problem` says why there is none.
    `lease` is this process's lease of the run, if it drives the run; this process must not be
    asking judges. `rule` and `configuration` are the run's. Raises `RunBusy` while another process
    drives the run, `InvalidInput` if the evaluation does not wait for a judge."""
    judge_verdict = JudgeVerdict(judge, verdict, problem)
    if lease is not None:
        await _record(store, key, lease, dialect, configuration, Judgement(rule, (judge_verdict,)))
        return
    with Lease(store.url, key.run_id, process_label()) as own:
        await asyncio.to_thread(own.acquire)
        await _record(store, key, own, dialect, configuration, Judgement(rule, (judge_verdict,)))


async def _record(
    store: Store,
    key: EvaluationKey,
    lease: HeldLease,
    dialect: Dialect,
    configuration: Mapping[str, Any],
    judgement: Judgement,
) -> None:
    with store.lend() as connection:
        recorded = read_evaluations(connection, [key])[0]
    grader = Grader(dialect, NO_JUDGES, retry_attempts=0, configuration=configuration)
    events = await _verdict_events(recorded, grader, judgement)
    journal = Journal(store.log, lease=lease, outage=store.outage)
    try:
        await journal.append(*events)
    finally:
        await journal.close()


async def _verdict_events(
    recorded: RecordedEvaluation,
    grader: Grader,
    judgement: Judgement,
) -> list[EvaluationEvent]:
    state = recorded.state()
    classification = state.classification
    if state.finished or classification is None or state.verdicts:
        raise InvalidInput.because(
            "not-awaiting-verdict",
            f"the answer of {recorded.key.model_key} to {recorded.case.case_id} is not waiting "
            "for a judge",
            remedy="load it again to see its current state",
        )
    header = EventHeader.of_evaluation(recorded.key)
    events: list[EvaluationEvent] = []

    def add(event: EvaluationEvent) -> None:
        nonlocal state
        events.append(event)
        state = evolve(state, event)

    if (request := state.in_flight) is not None:
        reason = "a verdict from outside came before its outcome"
        add(attempt_orphaned(header, state, request, reason))
    first = judgement.verdicts[0]
    add(
        Judged(
            **header(state), judge=first.judge, verdict=first.verdict, problem=first.problem,
            final=True, grader=first.judge, grader_version=VERSION,
        )
    )  # fmt: skip
    ending = (
        Abandon(Failure(JUDGE_FAILED, f"{first.judge}: {first.problem}"))
        if first.verdict is None
        else ScoreReply(classification, judgement)
    )
    steps = await grader.advance(recorded.key, recorded.case, state, first=ending)
    return [*events, *steps.events]
