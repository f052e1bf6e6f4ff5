"""Mistral's chat completions, as documented in its reference.

https://docs.mistral.ai/api/endpoint/chat
https://docs.mistral.ai/capabilities/reasoning
"""

from __future__ import annotations

from typing import Any

from failproof_es.events import ToolCall, Usage
from failproof_es.testing.other_side import Reply
from tests.integration.models.contract.speaking.example import (
    Example,
    Speaks,
    call,
    document,
    events,
)

MODEL = "mistral-large-2411"
ID = "0193f0a6-7e1b-7c52-9c40-3a1b"
HEADERS = {
    "mistral_correlation_id": ID,
    "x_ratelimit_limit_req_minute": "60",
    "x_ratelimit_remaining_req_minute": "59",
    "ratelimitbysize_remaining": "499900",
    "x_kong_request_id": "5e2f",
}
RECORDED = {name.replace("_", "-"): value for name, value in HEADERS.items()}
USED = {"prompt_tokens": 79, "total_tokens": 152, "completion_tokens": 73}
READ = Usage(input_tokens=79, output_tokens=73)
CALL = ToolCall(id="D681PevKs", name="search", arguments='{"q": "naïve"}')


def completion(message: dict[str, Any], reason: str = "stop", **more: Any) -> dict[str, Any]:
    choice = {"index": 0, "message": message, "finish_reason": reason}
    return {
        "id": "cmpl-e5cc70bb28c4", "object": "chat.completion", "model": MODEL, "usage": USED,
        "created": 1702256327, "choices": [choice], **more,
    }  # fmt: skip


def chunk(delta: dict[str, Any], reason: str | None = None, **more: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return {
        "id": "cmpl-e5cc70bb28c4", "object": "chat.completion.chunk", "created": 1702256327,
        "model": MODEL, "choices": [choice], **more,
    }  # fmt: skip


def said(content: Any, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "tool_calls": None, "content": content, **more}


CALLED = {"id": CALL.id, "function": {"name": CALL.name, "arguments": CALL.arguments}, "index": 0}
CALLED_WITH_AN_OBJECT = {
    **CALLED, "function": {"name": CALL.name, "arguments": {"q": "naïve"}},
}  # fmt: skip
"""The vendor's client takes both forms."""


def error(status: int, kind: str, code: str, told: str, **headers: str) -> Reply:
    failed = {"object": "error", "message": told, "type": kind, "param": None, "code": code}
    return document(status, failed, **headers)


KNOWN: dict[str, Any] = {"model": MODEL, "request_id": ID, "usage": READ, "recorded": RECORDED}

EXAMPLES = {
    "answer": Example(
        reply=document(200, completion(said("Grüße")), **HEADERS), text="Grüße", **KNOWN
    ),
    "thoughts": Example(
        reply=document(
            200,
            completion(
                said(
                    [
                        {"type": "thinking", "thinking": [{"type": "text", "text": "I greet."}]},
                        {"type": "text", "text": "Grüße"},
                    ]
                )
            ),
            **HEADERS,
        ),
        text="Grüße", **KNOWN,
    ),
    "stream": Example(
        reply=events(
            chunk({"role": "assistant", "content": ""}),
            chunk({"content": "Grü"}),
            chunk({"content": "ße"}),
            chunk({"content": ""}, "stop", usage=USED),
            done=True,
            headers=HEADERS,
        ),
        stream=True, text="Grüße", **KNOWN,
    ),
    "thoughts_stream": Example(
        reply=events(
            chunk({"role": "assistant", "content": ""}),
            chunk({"content": [{"type": "thinking", "thinking": [
                {"type": "text", "text": "I greet."},
            ]}]}),
            chunk({"content": [
                {"type": "thinking", "thinking": [], "closed": True},
                {"type": "text", "text": "Grü"},
            ]}),
            chunk({"content": "ße"}),
            chunk({"content": ""}, "stop", usage=USED),
            done=True,
            headers=HEADERS,
        ),
        stream=True, text="Grüße", **KNOWN,
    ),
    "tool_call_with_an_object": Example(
        reply=document(
            200, completion(said("", tool_calls=[CALLED_WITH_AN_OBJECT]), "tool_calls"), **HEADERS
        ),
        finish_reason="tool_calls", tool_calls=(call(CALL.name, {"q": "naïve"}, CALL.id),), **KNOWN,
    ),
    "tool_call_with_an_object_stream": Example(
        reply=events(
            chunk({"content": "", "tool_calls": [CALLED_WITH_AN_OBJECT]}, "tool_calls", usage=USED),
            done=True,
            headers=HEADERS,
        ),
        stream=True, finish_reason="tool_calls",
        tool_calls=(call(CALL.name, {"q": "naïve"}, CALL.id),), **KNOWN,
    ),
    "tool_call": Example(
        reply=document(200, completion(said("", tool_calls=[CALLED]), "tool_calls"), **HEADERS),
        finish_reason="tool_calls", tool_calls=(CALL,), **KNOWN,
    ),
    "tool_call_stream": Example(
        reply=events(
            chunk({"role": "assistant", "content": ""}),
            chunk({"content": "", "tool_calls": [CALLED]}, "tool_calls", usage=USED),
            done=True,
            headers=HEADERS,
        ),
        stream=True, finish_reason="tool_calls", tool_calls=(CALL,), **KNOWN,
    ),
    "cut_off": Example(
        reply=document(200, completion(said("Once upon"), "length"), **HEADERS),
        text="Once upon", finish_reason="length", **KNOWN,
    ),
    "cut_off_by_the_model": Example(
        reply=document(200, completion(said("Once upon"), "model_length"), **HEADERS),
        text="Once upon", finish_reason="length", **KNOWN,
    ),
    "rate_limited": Example(
        reply=error(429, "rate_limited", "1300", "Requests rate limit exceeded", **HEADERS),
        kind="rate_limited", disposition="deferred", says="rate limit exceeded", recorded=RECORDED,
    ),
    "overloaded": Example(
        reply=error(503, "service_unavailable", "3505", "Service tier capacity exceeded"),
        kind="server_error", says="capacity exceeded",
    ),
    "server_error": Example(
        reply=error(500, "internal_server_error", "1000", "Service unavailable.", **HEADERS),
        kind="server_error", says="Service unavailable", recorded=RECORDED,
    ),
    "context_length": Example(
        reply=error(
            400, "invalid_request_invalid_args", "3051",
            "Prompt contains 150000 tokens, too large for model with 131072 maximum context length",
        ),
        kind="bad_request", disposition="final", says="maximum context length",
    ),
    "invalid": Example(
        reply=document(
            422,
            {"detail": [{"type": "extra_forbidden", "loc": ["body", "x"], "msg": "Not permitted"}]},
        ),
        kind="bad_request", disposition="final", says="HTTP 422",
    ),
    "wrong_key": Example(
        reply=document(401, {"detail": "Unauthorized"}),
        kind="authentication", disposition="halting", says="Unauthorized",
    ),
    "no_such_model": Example(
        reply=error(400, "invalid_model", "1500", "Invalid model: mistral-nope"),
        kind="not_found", disposition="halting", says="Invalid model",
    ),
    "empty": Example(
        reply=document(200, completion(said(None), choices=[])), kind="empty_choices"
    ),
    "broken_off_stream": Example(
        reply=events(chunk({"content": "half"}), chunk({"content": ""}, "error"), done=True),
        stream=True, kind="provider_error", says="broken off",
    ),
    "bare_error_in_stream": Example(
        reply=events(
            chunk({"role": "assistant", "content": "half"}),
            {"object": "error", "message": "Too many", "type": "rate_limited", "code": "429"},
        ),
        stream=True, kind="rate_limited", disposition="deferred", says="Too many",
    ),
    "error_in_stream": Example(
        reply=events(
            chunk({"role": "assistant", "content": "half"}),
            {"error": {"message": "Service unavailable", "type": "internal_server_error"}},
        ),
        stream=True, kind="provider_error", says="Service unavailable",
    ),
}  # fmt: skip

SPEAKS = Speaks(
    provider="mistral",
    reference="https://docs.mistral.ai/api/endpoint/chat",
    entry={"model": "mistral-large-2411"},
    path="/v1",
    asked_at="/v1/chat/completions",
    costs=79 * 2 + 73 * 10,
    examples=EXAMPLES,
    ends={
        "stop": "stop",
        "length": "length",
        "model_length": "length",
        "tool_calls": "tool_calls",
        "error": "!provider_error",
    },
    ended=lambda reason: document(200, completion(said("Fir"), reason)),
    unable={
        "refused": "a model refuses in its text",
        "blocked": "its moderation is an API of its own",
    },
)
