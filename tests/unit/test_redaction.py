"""Known secret values are replaced in whatever form they come back."""

from __future__ import annotations

import pytest

from failproof_es.engine.redaction import Redactor

KEY = 'sk/a"b+c=='


@pytest.mark.parametrize("echo", [KEY, r"sk/a\"b+c==", r"sk\/a\"b+c=="])
def test_a_key_is_replaced_as_it_is_and_as_json_escapes_it(
    echo: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CANARY_KEY", KEY)
    redactor = Redactor(["CANARY_KEY", "NOT_SET_HERE"])
    assert redactor.redact(f"key {echo} is bad") == "key [redacted:CANARY_KEY] is bad"
    assert redactor.redact_bytes(b"\xff" + echo.encode()) == b"\xff[redacted:CANARY_KEY]"
    assert redactor.redact_values({"x-request-id": echo}) == {
        "x-request-id": "[redacted:CANARY_KEY]"
    }


def test_too_short_a_value_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANARY_KEY", "abc")
    assert Redactor(["CANARY_KEY"]).redact("abcdef") == "abcdef"
