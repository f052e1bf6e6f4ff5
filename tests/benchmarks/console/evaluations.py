"""The events of an evaluation as the store's codec writes them, of each kind encoded once."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache
from random import Random
from typing import Any
from uuid import UUID

from failproof_es.core.evaluation import AWAITING_REVIEW, EvaluationKey
from failproof_es.events import (
    Classified,
    ErrorRecorded,
    EvaluationAbandoned,
    EvaluationEvent,
    Event,
    RequestSent,
    ResponseReceived,
    RunFailed,
    RunPaused,
    Scored,
)
from failproof_es.ledger.leaf import leaf_hash
from failproof_es.store.mapper import encode
from tests.unit.histories import PROMPT, RUN, History, lived

JUDGE = "judge"


@dataclass
class FilledRun:
    """A run that is written."""

    run_id: UUID
    cases: Sequence[tuple[UUID, str]]
    """Of each the stream, and its name."""
    models: tuple[str, ...]
    repetitions: int
    began: datetime
    judged: bool
    ends: type[Event] | None
    chance: Random
    number: int = 0
    counts: dict[str, int] = field(default_factory=lambda: {"scored": 0, "abandoned": 0})


_SHARES = {
    "passed": 620, "failed": 170, "refused": 40, "retried": 50, "unique error": 10, "killed": 10,
    "lost": 30, "left to people": 20, "without a mark": 30, "judged": 20,
}  # fmt: skip
_KINDS = tuple(_SHARES)
_WEIGHTS = tuple(_SHARES.values())
_ABANDONED = ("lost", "left to people")
_ERRORS = (
    ("rate_limited", "429 Too Many Requests: slow down"),
    ("timeout", "no answer within 60 s"),
    ("server_error", "500 Internal Server Error"),
    ("server_error", "502 Bad Gateway"),
    ("server_error", "503 Service Unavailable: the model is being loaded"),
    ("connection", "the connection was closed before the answer was whole"),
    ("bad_answer", "the answer is no JSON: expected value at line 1"),
)
WORDS = (
    "The answer follows from what was said before, and nothing else needs to be assumed here. "
    "First the numbers are added, then the result is compared with what the question wants. "
)
_BODY = '{"id": "chatcmpl-1", "object": "chat.completion", "choices": [{"index": 0}]}' * 4
_Pieces = tuple[tuple[str, bytes], ...]


@cache
def _template(kind: str) -> _Pieces:
    """The events of an evaluation of this kind: topics and states, with holes to be filled."""
    match kind:
        case "retried" | "unique error":
            events = lived(("a",), (), ["transient", "answer"], retries=2)
        case "killed":
            events = lived(("a",), (), ["killed", "answer"], retries=2)
        case "lost":
            events = lived(("a",), (), ["transient", "final"], retries=2)
        case "judged":
            events = lived(("a",), (JUDGE,), ["answer", "answer"], retries=2)
        case "left to people":
            events = (
                History().sent().answered().classified("unclear").abandoned(AWAITING_REVIEW).events
            )
        case "running":
            events = History().sent().events
        case _:
            events = lived(("a",), (), ["answer"], retries=2)
    return tuple((type(each).__name__, _with_holes(_varied(each, kind))) for each in events)


def _varied(event: EvaluationEvent, kind: str) -> EvaluationEvent:
    told: dict[str, Any] = {"model_key": "<model>"}
    match event:
        case RequestSent():
            told |= {
                "body": '{"model": "m", "messages": [], "max_tokens": 100}' * 6, "model": "<model>",
                "endpoint": "http://127.0.0.1/v1/chat/completions",
            }  # fmt: skip
        case ResponseReceived(purpose="target"):
            told |= {
                "text": "<answer> " + WORDS * 2, "body": _BODY, "model": "<model>",
                "provider_request_id": "req-<id>",
            }  # fmt: skip
        case ErrorRecorded():
            told |= {"kind": "<kind>", "message": "<message>"}
        case EvaluationAbandoned() if kind == "lost":
            told |= {"kind": "<kind>", "reason": "<message>"}
        case Classified():
            named = {"failed": "fail", "refused": "refusal", "lost": "error"}
            told |= {"primary": named.get(kind, event.primary)}
        case Scored() if kind in ("failed", "refused"):
            why = "refused" if kind == "refused" else "it does not say <name>"
            told |= {"passed": False, "scores": {"accuracy": 0.0}, "reason": why}
        case Scored() if kind == "without a mark":
            told |= {"passed": None, "scores": {"similarity": 0.5}}
    return event.model_copy(update=told)


def _with_holes(event: EvaluationEvent) -> bytes:
    """Its bytes as a format: what differs between evaluations is named."""
    state = encode(event).replace(b"%", b"%%")
    state = re.sub(rb'"timestamp":"[^"]*\.(\d{3})', rb'"timestamp":"%(moment)b.\1', state)
    state = re.sub(rb'"latency_ms":5.0', b'"latency_ms":%(latency)b', state)
    state = re.sub(
        rb'"input_tokens":3,"output_tokens":2',
        b'"input_tokens":%(read)b,"output_tokens":%(written)b',
        state,
    )
    state = state.replace(b'"repetition":1', b'"repetition":%(repetition)b')
    state = state.replace(str(RUN).encode(), b"%(run)b").replace(
        str(PROMPT).encode(), b"%(prompt)b"
    )
    return re.sub(rb"<(model|answer|id|kind|message|name)>", rb"%(\1)b", state)


def rows_of(run: FilledRun) -> Iterator[tuple[Any, ...]]:
    """Rows of the table: every event of every evaluation of the run."""
    chance, of_run = run.chance, str(run.run_id).encode()
    kinds, weights = _KINDS, list(_WEIGHTS)
    if not run.judged:
        weights[kinds.index("judged")] = 0
    going = run.ends in (None, RunPaused)
    if run.ends is RunFailed:  # a server that refuses
        kinds, weights = ("passed", "lost"), [1, 9]
    for place, (prompt, name) in enumerate(run.cases):
        moment = (run.began + timedelta(seconds=place // 20)).strftime("%Y-%m-%dT%H:%M:%S").encode()
        for model in run.models:
            for repetition in range(1, run.repetitions + 1):
                if going and place > len(run.cases) * 2 // 3:
                    if place > len(run.cases) * 2 // 3 + 2:
                        continue
                    kind = "running"
                else:
                    (kind,) = chance.choices(kinds, weights)
                    run.counts["abandoned" if kind in _ABANDONED else "scored"] += 1
                error, said = chance.choice(_ERRORS)
                stream = EvaluationKey(run.run_id, prompt, model, repetition).evaluation_id
                if kind == "unique error":
                    said = f"the request {stream.hex} failed"
                told = {
                    b"run": of_run, b"prompt": str(prompt).encode(), b"moment": moment,
                    b"model": model.encode(), b"repetition": b"%d" % repetition,
                    b"latency": b"%.3f" % chance.lognormvariate(7, 0.8),
                    b"read": b"%d" % chance.randint(40, 900),
                    b"written": b"%d" % chance.randint(10, 300), b"kind": error.encode(),
                    b"message": said.encode(), b"name": name.encode(),
                    b"answer": b"Of " + name.encode(), b"id": stream.hex[:20].encode(),
                }  # fmt: skip
                for version, (topic, pieces) in enumerate(_template(kind), 1):
                    state = pieces % told
                    leaf = leaf_hash(stream.bytes, version, topic.encode(), state)
                    yield stream, version, topic, state, run.run_id, leaf
