"""What an attempt leaves behind can be recorded, whatever came of it."""

from __future__ import annotations

from uuid import UUID

from failproof_es.engine.attempt_events import Stamp, error_recorded
from failproof_es.engine.redaction import Redactor
from failproof_es.evaluation import Evaluation, EvaluationKey, evolve
from failproof_es.events import RequestSent
from failproof_es.models.protocol import ModelError
from failproof_es.store.mapper import decode, encode


def test_an_error_whose_text_is_no_unicode_is_recorded_with_its_escapes() -> None:
    stamp = Stamp(EvaluationKey(UUID(int=1), UUID(int=2), "m"))
    request = RequestSent(
        **stamp(Evaluation()), purpose="target", turn=0, attempt=1, model="m", parameters={},
        endpoint="python:x:Y", body="", body_sha256="",
    )  # fmt: skip
    error = ModelError("client_exception", "no file \udcff.txt", "transient")
    error.__cause__ = OSError("no file \udcff.txt")
    event = error_recorded(stamp, evolve(Evaluation(), request), request, error, Redactor([]))
    assert event.message == r"no file \udcff.txt"
    assert event.stack_trace.count(r"\udcff") == 2
    stored = decode("ErrorRecorded", encode(event), event.originator_id, event.originator_version)
    assert stored == event
