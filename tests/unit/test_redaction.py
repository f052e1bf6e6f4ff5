"""Known secret values are replaced in whatever form they come back, and that is recorded."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

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


def test_a_key_that_begins_like_another_one_leaves_nothing_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("A_KEY", "sk-team")
    monkeypatch.setenv("B_KEY", "sk-team-0123")
    scrub = Redactor(["A_KEY", "B_KEY"]).scrubbing()
    assert scrub.text("text", "sk-team-0123 sk-team") == "[redacted:B_KEY] [redacted:A_KEY]"


def test_too_short_a_value_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANARY_KEY", "abc")
    scrub = Redactor(["CANARY_KEY"]).scrubbing()
    assert scrub.text("text", "abcdef") == "abcdef"
    assert scrub.record() == ()


@pytest.mark.parametrize("echo", FORMS)
def test_a_key_in_a_stream_is_replaced_wherever_it_is_cut(
    echo: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CANARY_KEY", KEY)
    text = f"key {echo} is bad, s and sk are not, {KEY[:-1]}"
    for size in range(1, len(text) + 1):
        passed: list[str] = []
        stream = Redactor(["CANARY_KEY"]).streaming(passed.append)
        for start in range(0, len(text), size):
            stream.piece(text[start : start + size])
            assert KEY not in "".join(passed) and "" not in passed
        stream.end()
        assert "".join(passed) == (
            f"key [redacted:CANARY_KEY] is bad, s and sk are not, {KEY[:-1]}"
        )


@given(st.lists(st.text("ab", max_size=6)), st.text("ab", min_size=4, max_size=6))
def test_whatever_the_pieces_no_key_passes_and_text_without_one_passes_unaltered(
    pieces: list[str], key: str
) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("CANARY_KEY", key)
        passed: list[str] = []
        stream = Redactor(["CANARY_KEY"]).streaming(passed.append)
    for piece in pieces:
        stream.piece(piece)
    stream.end()
    said, whole = "".join(passed), "".join(pieces)
    assert key not in said
    assert said == whole.replace(key, "[redacted:CANARY_KEY]")


@pytest.mark.parametrize("size", [1, 3, 7, 100])
def test_a_key_that_begins_like_another_one_leaves_nothing_of_it_in_a_stream(
    size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_KEY", "sk-team")
    monkeypatch.setenv("B_KEY", "sk-team-0123")
    passed: list[str] = []
    stream = Redactor(["A_KEY", "B_KEY"]).streaming(passed.append)
    text = "sk-team-0123 sk-team sk-team-0, sk-team-01"
    for start in range(0, len(text), size):
        stream.piece(text[start : start + size])
    stream.end()
    a, b = "[redacted:A_KEY]", "[redacted:B_KEY]"
    assert "".join(passed) == f"{b} {a} {a}-0, {a}-01"


def test_text_that_begins_no_key_is_passed_on_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANARY_KEY", KEY)
    passed: list[str] = []
    stream = Redactor(["CANARY_KEY"]).streaming(passed.append)
    for piece in ("The ", "sky i", "s blue s", "k", "y"):
        stream.piece(piece)
    assert passed == ["The ", "sky i", "s blue ", "sky"]
