"""Known secret values are replaced in whatever form they come back, and that is recorded."""

from __future__ import annotations

import pytest

from failproof_es.engine.redaction import Redactor
from failproof_es.events import Redaction

KEY = 'sk/a"b+c=='
FORMS = [KEY, r"sk/a\"b+c==", r"sk\/a\"b+c==", "sk%2Fa%22b%2Bc%3D%3D", "c2svYSJiK2M9PQ=="]


@pytest.mark.parametrize("echo", FORMS)
def test_a_key_is_replaced_in_every_form_and_the_replacement_is_recorded(
    echo: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CANARY_KEY", KEY)
    scrub = Redactor(["CANARY_KEY", "NOT_SET_HERE"]).scrubbing()
    assert scrub.text("message", f"key {echo} is bad") == "key [redacted:CANARY_KEY] is bad"
    assert scrub.data("body", b"\xff" + echo.encode() * 2) == b"\xff" + 2 * b"[redacted:CANARY_KEY]"
    assert scrub.values("headers", {"x-id": echo}) == {"x-id": "[redacted:CANARY_KEY]"}
    assert scrub.optional("model", None) is None
    assert scrub.record() == (
        Redaction(field="message", variable="CANARY_KEY", count=1),
        Redaction(field="body", variable="CANARY_KEY", count=2),
        Redaction(field="headers.x-id", variable="CANARY_KEY", count=1),
    )


def test_too_short_a_value_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANARY_KEY", "abc")
    scrub = Redactor(["CANARY_KEY"]).scrubbing()
    assert scrub.text("text", "abcdef") == "abcdef"
    assert scrub.record() == ()
