"""Records an answer that a program submits, in place of a request and a response of ours.

The event is `AnswerImported`, so the record says which program submitted it. The answer is graded
like any other; judges are asked about it as about any other.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from failproof_es.core.evaluation import EvaluationKey, Judging, evolve
from failproof_es.dialects.protocol import Dialect
from failproof_es.engine.drive.grading.grader import Grader
from failproof_es.engine.history import read_evaluations
from failproof_es.engine.identity import process_label
from failproof_es.events import AnswerImported, ImportedError, ImportedReply, Usage
from failproof_es.problems import InvalidInput
from failproof_es.store.store import Store
from failproof_es.store.writing.event_header import EventHeader
from failproof_es.store.writing.journal import Journal
from failproof_es.store.writing.lease import HeldLease, Lease

ANSWER_FAILED = "given_as_failed"
"""The kind of error of an answer that was submitted as failed."""


@dataclass(frozen=True, slots=True)
class SubmittedAnswer:
    """An answer that a program submits in place of the model.

    `given_by` names the program. With `error` there is no usable answer.
    """

    given_by: str
    text: str
    latency_ms: float | None = None
    output_tokens: int | None = None
    error: str | None = None


async def record_given_answer(
    store: Store,
    key: EvaluationKey,
    dialect: Dialect,
    answer: SubmittedAnswer,
    *,
    judging: Judging,
    configuration: Mapping[str, Any],
    lease: HeldLease | None = None,
) -> None:
    """Record the answer of an evaluation that has not begun, and grade it.

    `lease` is this process's lease of the run; `None` if it does not drive the run. `judging` and
    `configuration` are the run's. Raises `RunBusy` while another process drives the run,
    `InvalidInput` if something is on record already.
    """
    if lease is not None:
        await _record(store, key, lease, dialect, answer, judging, configuration)
        return
    with Lease(store.url, key.run_id, process_label()) as own:
        await asyncio.to_thread(own.acquire)
        await _record(store, key, own, dialect, answer, judging, configuration)


async def _record(
    store: Store,
    key: EvaluationKey,
    lease: HeldLease,
    dialect: Dialect,
    answer: SubmittedAnswer,
    judging: Judging,
    configuration: Mapping[str, Any],
) -> None:
    with store.lend() as connection:
        recorded = read_evaluations(connection, [key])[0]
    state = recorded.state()
    if state.version:
        raise InvalidInput.because(
            "not-awaiting-answer",
            f"{key.model_key} on {recorded.case.case_id}: the engine asks for this answer itself",
            remedy="wait until it is on record: load it again",
        )
    event = _event(EventHeader.of_evaluation(key)(state), answer)
    grader = Grader(dialect, judging, retry_attempts=0, configuration=configuration)
    steps = await grader.advance(key, recorded.case, evolve(state, event))
    journal = Journal(store.log, lease=lease, outage=store.outage)
    try:
        await journal.append(event, *steps.events)
    finally:
        await journal.close()


def _event(header: dict[str, Any], answer: SubmittedAnswer) -> AnswerImported:
    failed = answer.error is not None
    has_reply = bool(answer.text) or not failed
    return AnswerImported(
        **header,
        source_place=answer.given_by,
        sample_sha256="",
        replies=(ImportedReply(text=answer.text, finish_reason="stop"),) if has_reply else (),
        usage=Usage(output_tokens=answer.output_tokens),
        latency_ms=answer.latency_ms,
        error=ImportedError(kind=ANSWER_FAILED, message=answer.error or "") if failed else None,
    )
