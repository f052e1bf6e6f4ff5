"""What must hold of every history, whatever happened in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from uuid import UUID

from failproof_es.core.evaluation import ImpossibleHistory, fold
from failproof_es.core.reply_body import raw_body
from failproof_es.core.run import fold_run
from failproof_es.dialects import dialect_named
from failproof_es.engine.replays.replay import rederive
from failproof_es.events import (
    AttemptLost,
    ErrorRecorded,
    EvaluationAbandoned,
    Event,
    RequestSent,
    ResponseReceived,
    Scored,
)
from tests.simulation.database import MAPPER
from tests.simulation.history import History

_TURNED_AWAY = (429, 503)
"""The statuses with which the simulated servers refuse a request for now."""
_NO_FAILURES = (*_TURNED_AWAY, 401)
"""Those that use up no attempt: of a refused key the run is paused."""


def violations(history: History) -> list[str]:
    """Everything that is wrong with a history that was run."""
    found = list(history.violations)
    if not found:
        try:
            found += _violations(history)
        except ImpossibleHistory as impossible:
            found.append(f"impossible history: {impossible}")
    return found


def _violations(history: History) -> Iterator[str]:
    events = {
        stream: [MAPPER.to_domain_event(row.entry) for row in rows]
        for stream, rows in history.database.streams.items()
    }
    yield from _of_run(history, events[history.run_id])
    repeats: Counter[str] = Counter()
    outcomes: Counter[str] = Counter()
    recorded: Counter[str] = Counter()
    for stream in history.streams_of_evaluations():
        evaluation = events.get(stream, [])
        yield from _of_evaluation(history, stream, evaluation)
        body = history.asked[stream]
        for event in evaluation:
            if isinstance(event, AttemptLost):
                repeats[body] += 1
            elif isinstance(event, ResponseReceived | ErrorRecorded):
                yield from _of_reply(history, body, event, recorded)
        attempts = {(e.turn, e.attempt) for e in evaluation if isinstance(e, RequestSent)}
        lost = {(e.turn, e.attempt) for e in evaluation if isinstance(e, AttemptLost)}
        ended = {
            (e.turn, e.attempt)
            for e in evaluation
            if isinstance(e, ResponseReceived | ErrorRecorded)
        }
        outcomes[body] += len(ended)
        if attempts != lost | ended or lost & ended:
            yield f"evaluation {stream}: its requests are not its outcomes and those lost"
    sends = Counter(sent.body for sent in history.servers.sent)
    for body, count in sends.items():
        if not 0 <= count - outcomes[body] <= repeats[body]:
            yield (
                f"{count} requests were sent, {outcomes[body]} have an outcome on record and "
                f"{repeats[body]} are recorded as lost: {body}"
            )
    yield from _of_log(history)


def _of_run(history: History, events: Sequence[Event]) -> Iterator[str]:
    run = fold_run(events)
    if not run.sealed or run.validation is None:
        yield "the run is not sealed"
        return
    for finding in run.validation.findings:
        if finding.integrity:
            yield f"validation: {finding.kind}: {finding.message}"
    planned = len(history.asked)
    if run.counts is None or (run.counts.planned, run.counts.finished) != (planned, planned):
        yield f"the run counts {run.counts}, planned are {planned}"


def _of_evaluation(history: History, stream: UUID, events: Sequence[Event]) -> Iterator[str]:
    finals = [event for event in events if isinstance(event, Scored | EvaluationAbandoned)]
    if len(finals) != 1 or not fold(events).finished:
        yield f"evaluation {stream} has {len(finals)} final outcomes"
        return
    plan, dialect = history.plan, dialect_named("failproof")
    asked = {case.turns[0].content: case for case in plan.cases}
    case = next(case for said, case in asked.items() if said in history.asked[stream])
    _, differing = rederive(case, events, dialect, retry_attempts=history.shape.retries)
    for each in differing:
        yield f"evaluation {stream}: replay differs in {each.what}: {each.derived}"
    errors = [event for event in events if isinstance(event, ErrorRecorded)]
    ended_by_error = bool(errors) and not any(
        isinstance(event, ResponseReceived) for event in events
    )
    if ended_by_error:
        counting = [error for error in errors if error.status not in _NO_FAILURES]
        last = errors[-1]
        if last.status in _TURNED_AWAY:
            yield f"evaluation {stream} was given up because its server turned it away"
        elif last.disposition == "transient" and len(counting) != history.shape.retries + 1:
            yield f"evaluation {stream} was given up after {len(counting)} failures"


def _of_reply(
    history: History, body: str, event: ResponseReceived | ErrorRecorded, recorded: Counter[str]
) -> Iterator[str]:
    """A recorded reply is one that a server gave to this question, to its last byte, once."""
    number = event.headers.get("x-request-id")
    if number is None or (isinstance(event, ErrorRecorded) and event.kind == "model_mismatch"):
        return
    recorded[number] += 1
    if recorded[number] > 1:
        yield f"the reply to request {number} is recorded {recorded[number]} times"
    sent = history.servers.sent[int(number) - 1]
    said = raw_body(event)
    if sent.body != body or sent.reply is None:
        yield f"the reply to request {number} was not given to this question"
    elif said is None or sent.reply != (event.status, said.decode()):
        yield f"the reply to request {number} is not recorded as it came"


def _of_log(history: History) -> Iterator[str]:
    positions = [row.position for row in history.database.rows]
    if positions != sorted(set(positions)):
        yield "positions do not follow commit order"
    if history.followed != history.database.rows:
        missed = len(history.database.rows) - len(history.followed)
        yield f"a reader that polls by position missed {missed} events"
    for stream, rows in history.database.streams.items():
        versions = [row.entry.originator_version for row in rows]
        if versions != [*range(1, len(rows) + 1)]:
            yield f"stream {stream} has versions {versions}"
