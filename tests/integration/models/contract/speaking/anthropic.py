"""Anthropic's Messages API, as documented in its reference.

https://docs.anthropic.com/en/api/messages
https://docs.anthropic.com/en/docs/build-with-claude/streaming
https://docs.anthropic.com/en/api/errors
https://docs.anthropic.com/en/api/rate-limits
"""

from __future__ import annotations

from typing import Any

import orjson

from failproof_es.events import Usage
from failproof_es.testing.other_side import Reply
from tests.integration.models.contract.speaking.example import (
    Example,
    Speaks,
    call,
    document,
    events,
)
from tests.integration.models.contract.wires import AnthropicWire

MODEL = "claude-sonnet-4-20250514"
ID = "req_018EeWyXxfu5pfWkrYcMdjWG"
HEADERS = {
    "request_id": ID,
    "anthropic_organization_id": "org-test",
    "anthropic_ratelimit_requests_limit": "50",
    "anthropic_ratelimit_requests_remaining": "49",
    "anthropic_ratelimit_requests_reset": "2026-11-23T12:00:00Z",
    "anthropic_ratelimit_input_tokens_remaining": "29000",
    "anthropic_ratelimit_output_tokens_remaining": "7900",
    "anthropic_priority_input_tokens_remaining": "9618",
}
RECORDED = {name.replace("_", "-"): value for name, value in HEADERS.items()}
ASKED: dict[str, Any] = {
    "input_tokens": 21,
    "cache_creation_input_tokens": 188,
    "cache_read_input_tokens": 1086,
    "cache_creation": {"ephemeral_5m_input_tokens": 88, "ephemeral_1h_input_tokens": 100},
    "service_tier": "standard",
}
READ = Usage(
    input_tokens=21 + 188 + 1086, output_tokens=393, cached_input_tokens=1086,
    cache_write_tokens=188, cache_write_1h_tokens=100,
)  # fmt: skip
CALL = call("search", {"q": "naïve"}, "toolu_01A09q90qw90lq917835lq9")


def message(content: list[Any], reason: str = "end_turn", **more: Any) -> dict[str, Any]:
    return {
        "id": "msg_01XFDUDYJgAACzvnptvVoYEL", "type": "message", "role": "assistant",
        "model": MODEL, "content": content, "stop_reason": reason, "stop_sequence": None,
        "usage": {**ASKED, "output_tokens": 393}, **more,
    }  # fmt: skip


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def used() -> dict[str, Any]:
    return {
        "type": "tool_use", "id": CALL.id, "name": CALL.name,
        "input": orjson.loads(CALL.arguments),
    }  # fmt: skip


def start(**more: Any) -> dict[str, Any]:
    begun = message([], stop_reason=None, usage={**ASKED, "output_tokens": 1}, **more)
    return {"type": "message_start", "message": begun}


def block(index: int, begun: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"type": "content_block_start", "index": index, "content_block": begun},
        *({"type": "content_block_delta", "index": index, "delta": each} for each in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def text_delta(said: str) -> dict[str, Any]:
    return {"type": "text_delta", "text": said}


def json_delta(piece: str) -> dict[str, Any]:
    return {"type": "input_json_delta", "partial_json": piece}


def end(reason: str = "end_turn", details: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    return [
        {
            "type": "message_delta",
            "delta": {"stop_reason": reason, "stop_sequence": None, "stop_details": details},
            "usage": {"output_tokens": 393},
        },
        {"type": "message_stop"},
    ]


def error(status: int, kind: str, said: str, **headers: str) -> Reply:
    failed = {"type": "error", "error": {"type": kind, "message": said}, "request_id": ID}
    return document(status, failed, **headers)


KNOWN: dict[str, Any] = {"model": MODEL, "request_id": ID, "usage": READ, "recorded": RECORDED}
PING = {"type": "ping"}

EXAMPLES = {
    "answer": Example(
        reply=document(200, message([text("Grüße")]), **HEADERS), text="Grüße", **KNOWN
    ),
    "stream": Example(
        reply=events(
            start(),
            *block(
                0, {"type": "thinking", "thinking": "", "signature": ""},
                {"type": "thinking_delta", "thinking": "I greet."},
                {"type": "signature_delta", "signature": "EqQBCgIYAhIM"},
            ),
            PING,
            *block(1, text(""), text_delta("Grü"), text_delta("ße")),
            *end(),
            named=True, headers=HEADERS,
        ),
        stream=True, text="Grüße", **KNOWN,
    ),
    "tool_call": Example(
        reply=document(200, message([text("Let me look."), used()], "tool_use"), **HEADERS),
        text="Let me look.", finish_reason="tool_calls", tool_calls=(CALL,), **KNOWN,
    ),
    "tool_call_stream": Example(
        reply=events(
            start(),
            *block(0, text(""), text_delta("Let me look.")),
            *block(
                1, {**used(), "input": {}}, json_delta(""), json_delta('{"q": "na'),
                json_delta('ïve"}'),
            ),
            *end("tool_use"),
            named=True, headers=HEADERS,
        ),
        stream=True, text="Let me look.", finish_reason="tool_calls", tool_calls=(CALL,), **KNOWN,
    ),
    "cut_off": Example(
        reply=document(200, message([text("Once upon")], "max_tokens"), **HEADERS),
        text="Once upon", finish_reason="length", **KNOWN,
    ),
    "refused": Example(
        reply=document(200, message([], "refusal"), **HEADERS),
        finish_reason="content_filter", **KNOWN,
    ),
    "refused_for_a_reason": Example(
        reply=document(
            200,
            message([], "refusal", stop_details={
                "type": "refusal", "category": "bio", "explanation": "It could enable harm.",
            }),
            **HEADERS,
        ),
        finish_reason="content_filter", refusal="It could enable harm.", **KNOWN,
    ),
    "refused_for_a_reason_stream": Example(
        reply=events(
            start(), *end("refusal", {"type": "refusal", "category": "cyber", "explanation": None}),
            named=True, headers=HEADERS,
        ),
        stream=True, finish_reason="content_filter", refusal="cyber", **KNOWN,
    ),
    "thoughts": Example(
        reply=document(
            200,
            message(
                [{"type": "thinking", "thinking": "I greet.", "signature": "EqQB"}, text("Hi")],
                usage={
                    "input_tokens": 9, "output_tokens": 40,
                    "output_tokens_details": {"thinking_tokens": 32},
                },
            ),
        ),
        text="Hi", model=MODEL, request_id="msg_01XFDUDYJgAACzvnptvVoYEL",
        usage=Usage(
            input_tokens=9, output_tokens=40, reasoning_tokens=32, cached_input_tokens=0,
            cache_write_tokens=0,
        ),
    ),
    "later_kinds_stream": Example(
        reply=events(
            start(),
            *block(0, {"type": "future_block", "future": 1}, {"type": "future_delta", "more": "x"}),
            *block(1, text(""), {"type": "citations_delta", "citation": {
                "type": "char_location", "cited_text": "G", "document_index": 0,
                "document_title": None, "start_char_index": 0, "end_char_index": 1,
                "file_id": None,
            }}, text_delta("Grüße")),
            *end(),
            named=True, headers=HEADERS,
        ),
        stream=True, text="Grüße", **KNOWN,
    ),
    "refused_stream": Example(
        reply=events(
            start(), *block(0, text(""), text_delta("Hel")), *end("refusal"),
            named=True, headers=HEADERS,
        ),
        stream=True, text="Hel", finish_reason="content_filter", **KNOWN,
    ),
    "rate_limited": Example(
        reply=error(
            429, "rate_limit_error", "This request would exceed your rate limit", retry_after="7",
            **HEADERS,
        ),
        kind="rate_limited", disposition="deferred", retry_after_s=7.0,
        says="would exceed your rate limit", recorded=RECORDED,
    ),
    "overloaded": Example(
        reply=error(529, "overloaded_error", "Overloaded", **HEADERS),
        kind="overloaded", disposition="deferred", says="Overloaded", recorded=RECORDED,
    ),
    "server_error": Example(
        reply=error(500, "api_error", "Internal server error", **HEADERS),
        kind="server_error", says="Internal server error", recorded=RECORDED,
    ),
    "context_length": Example(
        reply=error(
            400, "invalid_request_error", "prompt is too long: 208310 tokens > 200000 maximum"
        ),
        kind="bad_request", disposition="final", says="prompt is too long",
    ),
    "too_large": Example(
        reply=error(413, "request_too_large", "Request exceeds the maximum size"),
        kind="bad_request", disposition="final", says="maximum size",
    ),
    "wrong_key": Example(
        reply=error(401, "authentication_error", "invalid x-api-key"),
        kind="authentication", disposition="halting", says="invalid x-api-key",
    ),
    "no_such_model": Example(
        reply=error(404, "not_found_error", "model: claude-nope"),
        kind="not_found", disposition="halting", says="claude-nope",
    ),
    "empty": Example(
        reply=document(200, message([])), model=MODEL, usage=READ,
        request_id="msg_01XFDUDYJgAACzvnptvVoYEL",
    ),
    "broken_in_stream": Example(
        reply=events(
            start(),
            {"type": "error", "error": {"type": "api_error", "message": "Internal server error"}},
            named=True,
        ),
        stream=True, kind="provider_error", says="Internal server error",
    ),
    "error_in_stream": Example(
        reply=events(
            start(),
            *block(0, text(""), text_delta("half"))[:2],
            {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
            named=True,
        ),
        stream=True, kind="overloaded", disposition="deferred", says="Overloaded",
    ),
}  # fmt: skip

SPEAKS = Speaks(
    provider="anthropic",
    reference="https://docs.anthropic.com/en/api/messages",
    entry={"model": "claude-sonnet-4"},
    path="/v1",
    asked_at="/v1/messages",
    key=("x-api-key", ""),
    costs=21 * 2 + 1086 * 0.2 + 88 * 2.5 + 100 * 4 + 393 * 10,  # cached ones stand beside
    examples=EXAMPLES,
    ends={
        "end_turn": "stop",
        "stop_sequence": "stop",
        "max_tokens": "length",
        "model_context_window_exceeded": "length",
        "tool_use": "tool_calls",
        "refusal": "content_filter",
        "pause_turn": "pause_turn",
    },
    ended=lambda reason: document(200, message([text("Fir")], reason)),
    unable={"blocked": "it says `refusal` of what its classifiers stop, and of nothing else"},
    wire=AnthropicWire,
)
