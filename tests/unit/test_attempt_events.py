"""What an attempt leaves behind can be recorded, whatever came of it."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest

from failproof_es.engine.attempt_events import Stamp, error_recorded, response_received
from failproof_es.engine.redaction import Redactor
from failproof_es.evaluation import Evaluation, EvaluationKey, evolve
from failproof_es.events import RequestSent
from failproof_es.models.protocol import Answer, ModelError
from failproof_es.store.mapper import decode, encode

STAMP = Stamp(EvaluationKey(UUID(int=1), UUID(int=2), "m"))
REQUEST = RequestSent(
    **STAMP(Evaluation()), purpose="target", turn=0, attempt=1, model="m", parameters={},
    endpoint="python:x:Y", body="", body_sha256="",
)  # fmt: skip
SENT = evolve(Evaluation(), REQUEST)


@pytest.mark.parametrize("echoed", ["sk-\n\ncanary-0123456789", r"\u0073k-canary-0123456789"])
def test_a_key_that_comes_in_pieces_takes_the_raw_body_with_it(
    echoed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CANARY_KEY", "sk-canary-0123456789")
    answer = Answer(
        200, {"server": "x"}, f'"key: {echoed}!"'.encode(), "key: sk-canary-0123456789!", 1.0
    )
    event = response_received(STAMP, SENT, REQUEST, answer, Redactor(["CANARY_KEY"]))
    assert (event.text, event.body) == ("key: [redacted:CANARY_KEY]!", "[redacted:CANARY_KEY]")
    assert [(each.field, each.count) for each in event.redactions] == [("text", 1), ("body", 1)]
    assert b"canary-0" not in encode(event)


def test_a_key_in_one_piece_takes_nothing_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANARY_KEY", "sk-canary-0123456789")
    answer = Answer(
        200,
        {"server": "sk-canary-0123456789"},
        b"a sk-canary-0123456789 b",
        "a sk-canary-0123456789 b",
        1.0,
    )
    event = response_received(STAMP, SENT, REQUEST, answer, Redactor(["CANARY_KEY"]))
    assert event.body == event.text == "a [redacted:CANARY_KEY] b"
    answer = replace(answer, body=b"a b", text="a b")
    event = response_received(STAMP, SENT, REQUEST, answer, Redactor(["CANARY_KEY"]))
    assert event.body == "a b" and event.headers == {"server": "[redacted:CANARY_KEY]"}


def test_a_stand_in_for_a_key_may_be_said_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANARY_KEY", "EMPTY")
    answer = Answer(200, {}, b"it is EM PTY", "it is EMPTY", 1.0)
    event = response_received(STAMP, SENT, REQUEST, answer, Redactor(["CANARY_KEY"]))
    assert event.body == "it is EM PTY"


def test_an_error_whose_text_is_no_unicode_is_recorded_with_its_escapes() -> None:
    error = ModelError("client_exception", "no file \udcff.txt", "transient")
    error.__cause__ = OSError("no file \udcff.txt")
    event = error_recorded(STAMP, SENT, REQUEST, error, Redactor([]))
    assert event.message == r"no file \udcff.txt"
    assert event.stack_trace.count(r"\udcff") == 2
    stored = decode("ErrorRecorded", encode(event), event.originator_id, event.originator_version)
    assert stored == event
