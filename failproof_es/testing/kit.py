"""Shared helpers of the contract tests."""

from __future__ import annotations

import os
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from uuid import UUID

from failproof_es.core.case import Turn
from failproof_es.core.evaluation import Evaluation, EvaluationKey, evolve
from failproof_es.engine.drive.attempt_events import response_received
from failproof_es.engine.drive.redaction import Redactor
from failproof_es.events import RequestSent, ResponseReceived
from failproof_es.models.protocol import Answer, Provider
from failproof_es.store.writing.event_header import EventHeader

KEY = "sk-canary-0123456789abcdef"
KEY_VARIABLE = "FAILPROOF_ES_CONTRACT_KEY"
ODD = 'tab\t "quoted" {{x}} \x00 \u202e naïve \U0001f600'
"""A text with special characters that must arrive unchanged."""
SCHEMA = {"type": "object", "properties": {"zyzzyva": {"type": "string"}}}


@contextmanager
def key_set() -> Iterator[None]:
    """Set the variable of the contract's API key for the duration of the context."""
    before = os.environ.get(KEY_VARIABLE)
    os.environ[KEY_VARIABLE] = KEY
    try:
        yield
    finally:
        os.environ.pop(KEY_VARIABLE, None)
        if before is not None:
            os.environ[KEY_VARIABLE] = before


def ask(text: str) -> Sequence[Turn]:
    """A conversation of one user turn."""
    return [Turn(role="user", content=text)]


def error_text(error: BaseException) -> str:
    """The tracebacks, as text, of an error and of all its causes."""
    return "".join(traceback.format_exception(error))


def recorded(provider: Provider, answer: Answer) -> ResponseReceived:
    """The event `ResponseReceived` that a run records for the provider's answer."""
    header = EventHeader.of_evaluation(EvaluationKey(UUID(int=1), UUID(int=2), "m"))
    prepared = provider.prepare(ask("hi"))
    request = RequestSent(
        **header(Evaluation()), purpose="target", turn=0, attempt=1, model="m", parameters={},
        endpoint=prepared.endpoint, body=prepared.body.decode(), body_sha256="",
    )  # fmt: skip
    state = evolve(Evaluation(), request)
    return response_received(header, state, request, answer, Redactor([]))
