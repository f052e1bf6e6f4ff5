"""What must hold of every history, whatever happened in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from uuid import UUID

from failproof_es.core.case import Case
from failproof_es.core.evaluation import ImpossibleHistory, Judging, fold
from failproof_es.core.reply_body import raw_body
from failproof_es.core.run import fold_run
from failproof_es.engine.replays.rederiving import rederive
from failproof_es.events import (
    AttemptOrphaned,
    ErrorRecorded,
    EvaluationAbandoned,
    Event,
    RequestSent,
    ResponseReceived,
    Scored,
)
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
        stream: [
            history.decoded(e.topic, e.state, stream, e.originator_version)
            for e in (row.entry for row in rows)
        ]
        for stream, rows in history.database.streams.items()
    }
    yield from _of_run(history, events[history.run_id])
    repeats: Counter[str] = Counter()
    outcomes: Counter[str] = Counter()
    recorded: Counter[str] = Counter()
    for stream, case in history.evaluations.items():
        evaluation = events.get(stream, [])
        yield from _of_evaluation(history, stream, case, evaluation)
        in_flight = None
        for event in evaluation:
            if isinstance(event, RequestSent):
                in_flight = event.body
            elif in_flight is None:
                continue
            elif isinstance(event, AttemptOrphaned):
                repeats[in_flight] += 1
                in_flight = None
            elif isinstance(event, ResponseReceived | ErrorRecorded):
                yield from _of_reply(history, in_flight, event, recorded)
                outcomes[in_flight] += 1
                in_flight = None
        if in_flight is not None:
            yield f"evaluation {stream} ended with a request in flight"
    sends = Counter(sent.body for sent in history.servers.sent)
    for body, count in sends.items():
        if not 0 <= count - outcomes[body] <= repeats[body]:
            yield (
                f"{count} requests were sent, {outcomes[body]} have an outcome on record and "
                f"{repeats[body]} are recorded as orphaned: {body}"
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
    planned = len(history.evaluations)
    if run.counts is None or (run.counts.planned, run.counts.finished) != (planned, planned):
        yield f"the run counts {run.counts}, planned are {planned}"


def _of_evaluation(
    history: History, stream: UUID, case: Case, events: Sequence[Event]
) -> Iterator[str]:
    finals = [event for event in events if isinstance(event, Scored | EvaluationAbandoned)]
    if len(finals) != 1 or not fold(events).finished:
        yield f"evaluation {stream} has {len(finals)} final outcomes"
        return
    plan, retries = history.plan, history.shape.retries
    judging = plan.configuration.judging
    judges = Judging(tuple(each.key for each in plan.judges), judging.rule, judging.attempts)
    again = rederive(case, events, plan.dialect, retry_attempts=retries, judging=judges)
    differing = again.disagreements
    for each in differing:
        yield f"evaluation {stream}: replay differs in {each.what}: {each.derived}"
    yield from _of_failures(stream, events, retries)


def _of_failures(stream: UUID, events: Sequence[Event], retries: int) -> Iterator[str]:
    """A question that was given up had its attempts, and none of them was used up by a refusal."""
    errors: dict[tuple[int, str | None], list[ErrorRecorded]] = {}
    for event in events:
        if isinstance(event, ErrorRecorded):
            errors.setdefault((event.turn, event.judge), []).append(event)
        elif isinstance(event, ResponseReceived):
            errors.pop((event.turn, event.judge), None)
    for found in errors.values():
        counting = [error for error in found if error.status not in _NO_FAILURES]
        if found[-1].status in _TURNED_AWAY:
            yield f"evaluation {stream} was given up because its server turned it away"
        elif found[-1].disposition == "transient" and len(counting) != retries + 1:
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
