"""What an earlier version read from the same bytes is no misreading; anything else is."""

from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import orjson
import pytest

from failproof_es.events import ResponseReceived
from failproof_es.models.replies.parse_check import find_parse_mismatch


def _anthropic() -> dict[str, Any]:
    return {
        "model": "m",
        "content": [],
        "stop_reason": "refusal",
        "stop_details": {"type": "refusal", "explanation": "why"},
    }


def _gemini(reason: str, *texts: str) -> dict[str, Any]:
    parts = [{"text": text} for text in texts]
    return {
        "modelVersion": "m",
        "candidates": [{"content": {"parts": parts}, "finishReason": reason}],
    }


def _openai(reason: Any, **more: Any) -> dict[str, Any]:
    choice = {"message": {"content": "a"}, "finish_reason": reason}
    return {"model": "m", "choices": [choice], **more}


def _bedrock() -> dict[str, Any]:
    cited = {"citationsContent": {"content": [{"text": "b"}]}}
    return {
        "output": {"message": {"role": "assistant", "content": [{"text": "a"}, cited]}},
        "stopReason": "end_turn",
    }


def _stream(*events: dict[str, Any]) -> bytes:
    return b"".join(b"data: " + orjson.dumps(event) + b"\n\n" for event in events)


def _two_reasons() -> bytes:
    def chunk(text: str | None, reason: str) -> dict[str, Any]:
        choice = {"index": 0, "delta": {"content": text}, "finish_reason": reason}
        return {"model": "m", "choices": [choice]}

    return _stream(chunk("a", "length"), chunk(None, "stop"))


def _without_reason() -> bytes:
    return _stream(
        {"type": "message_start", "message": {"model": "m", "content": []}},
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": {"type": "text", "text": "a"},
        },
        {"type": "message_stop"},
    )


def _parts(*parts: Any, **more: Any) -> dict[str, Any]:
    choice = {"message": {"content": [*parts], **more}, "finish_reason": "stop"}
    return {"model": "m", "choices": [choice]}


def _mismatch(provider: str, body: dict[str, Any] | bytes, read: dict[str, Any]) -> str | None:
    model = None if provider == "bedrock" else "m"
    content_type = "application/json" if isinstance(body, dict) else "text/event-stream"
    written = orjson.dumps(body) if isinstance(body, dict) else body
    recorded = ResponseReceived(
        originator_id=uuid4(), originator_version=2, run_id=uuid4(), timestamp=datetime.now(UTC),
        prompt_id=uuid4(), model_key="m", repetition=1, purpose="target", turn=0, attempt=1,
        status=200, headers={"content-type": content_type}, body=written.decode(),
        model=model, latency_ms=1.0, **read,
    )  # fmt: skip
    found = find_parse_mismatch(provider, recorded)
    return None if found is None else found.field


@pytest.mark.parametrize(
    ("provider", "body", "read"),
    [
        ("anthropic", _anthropic(), {"text": "", "finish_reason": "content_filter"}),
        ("gemini", _gemini("LANGUAGE", "a"), {"text": "a", "finish_reason": "LANGUAGE"}),
        ("vertex", _gemini("CONTINUATION", "a"), {"text": "a", "finish_reason": "CONTINUATION"}),
        ("gemini", _gemini("OTHER"), {"text": "", "finish_reason": "OTHER"}),
        ("openai", _openai("error"), {"text": "a", "finish_reason": "error"}),
        ("openai", _openai("stop", object="error"), {"text": "a", "finish_reason": "stop"}),
        ("bedrock", _bedrock(), {"text": "a", "finish_reason": "stop"}),
        ("openai", _openai(3), {"text": "a", "finish_reason": None}),
        ("openai", _two_reasons(), {"text": "a", "finish_reason": "stop"}),
        ("anthropic", _without_reason(), {"text": "a", "finish_reason": None}),
        ("openai", _parts("a"), {"text": "", "finish_reason": "stop"}),
        ("openai", _parts({"type": "image"}), {"text": "", "finish_reason": "stop"}),
        (
            "openai",
            _parts({"type": "text", "text": "a"}, {"text": "b"}),
            {"text": "a", "finish_reason": "stop"},
        ),
        (
            "openai",
            _parts({"type": "text", "text": "a"}, {"type": "refusal", "refusal": "b"}),
            {"text": "a", "finish_reason": "stop"},
        ),
        (
            "openai",
            _parts("a", function_call={"name": "f", "arguments": "{}"}),
            {"text": "", "finish_reason": "stop"},
        ),
    ],
)
def test_an_answer_that_an_earlier_version_read_otherwise_is_not_misread(
    provider: str, body: dict[str, Any] | bytes, read: dict[str, Any]
) -> None:
    assert _mismatch(provider, body, dict(read)) is None
    altered = {**read, "finish_reason": "another"}
    assert _mismatch(provider, body, altered) in ("body", "finish_reason", "refusal")


@pytest.mark.parametrize(
    ("provider", "body", "read", "field"),
    [
        (
            "gemini",
            _gemini("MALFORMED_RESPONSE"),
            {"text": "b", "finish_reason": "MALFORMED_RESPONSE"},
            "body",
        ),
        ("gemini", _gemini("SAFETY"), {"text": "", "finish_reason": "LANGUAGE"}, "refusal"),
        ("gemini", _gemini("LANGUAGE", "a"), {"text": "b", "finish_reason": "LANGUAGE"}, "text"),
        ("openai", _openai("stop"), {"text": "a", "finish_reason": "error"}, "finish_reason"),
        ("bedrock", _bedrock(), {"text": "c", "finish_reason": "stop"}, "text"),
        ("openai", _openai("length"), {"text": "a", "finish_reason": None}, "finish_reason"),
        ("openai", _openai("3"), {"text": "a", "finish_reason": None}, "finish_reason"),
        ("openai", _two_reasons(), {"text": "a", "finish_reason": None}, "finish_reason"),
        ("anthropic", _anthropic(), {"text": "", "finish_reason": None}, "finish_reason"),
        ("openai", _parts("a"), {"text": "b", "finish_reason": "stop"}, "text"),
        (
            "openai",
            _parts({"type": "text", "text": "a"}),
            {"text": "", "finish_reason": "stop"},
            "text",
        ),
        (
            "openai",
            _parts({"type": "text", "text": "a"}, refusal="b"),
            {"text": "a", "finish_reason": "stop"},
            "refusal",
        ),
    ],
)
def test_nothing_else_passes_for_it(
    provider: str, body: dict[str, Any] | bytes, read: dict[str, Any], field: str
) -> None:
    assert _mismatch(provider, body, dict(read)) == field


def test_a_body_of_another_form_that_names_citations_is_misread_and_no_crash() -> None:
    body = _openai("stop", citationsContent=1)
    assert _mismatch("openai", body, {"text": "b", "finish_reason": "stop"}) == "text"
