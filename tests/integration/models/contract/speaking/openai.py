"""OpenAI's chat completions, as documented in the API reference and the guide to errors.

https://platform.openai.com/docs/api-reference/chat
https://platform.openai.com/docs/guides/error-codes
https://platform.openai.com/docs/guides/rate-limits
"""

from __future__ import annotations

from typing import Any

from failproof_es.events import ToolCall, Usage
from failproof_es.testing.other_side import Reply
from tests.integration.models.contract.speaking.example import Example, Speaks, document, events

MODEL = "gpt-4o-2024-08-06"
ID = "req_4d5e6f"
LIMITS = {
    "x_ratelimit_limit_requests": "60",
    "x_ratelimit_limit_tokens": "150000",
    "x_ratelimit_remaining_requests": "59",
    "x_ratelimit_remaining_tokens": "149984",
    "x_ratelimit_reset_requests": "1s",
    "x_ratelimit_reset_tokens": "6m0s",
}
HEADERS = {
    **LIMITS,
    "x_request_id": ID,
    "openai_processing_ms": "812",
    "openai_version": "2020-10-01",
    "openai_organization": "org-test",
}
RECORDED = {name.replace("_", "-"): value for name, value in HEADERS.items()}
USED: dict[str, Any] = {
    "prompt_tokens": 1117,
    "completion_tokens": 46,
    "total_tokens": 1163,
    "prompt_tokens_details": {"cached_tokens": 1024, "audio_tokens": 0},
    "completion_tokens_details": {
        "reasoning_tokens": 32,
        "accepted_prediction_tokens": 0,
        "rejected_prediction_tokens": 0,
    },
}
READ = Usage(input_tokens=1117, output_tokens=46, cached_input_tokens=1024, reasoning_tokens=32)
ENDS = ("stop", "length", "tool_calls", "content_filter", "function_call")
CALL = ToolCall(id="call_abc", name="search", arguments='{"q": "naïve"}')


def completion(message: dict[str, Any], reason: str = "stop", **more: Any) -> dict[str, Any]:
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": reason}
    return {
        "id": "chatcmpl-123", "object": "chat.completion", "created": 1728933352, "model": MODEL,
        "choices": [choice], "usage": USED, "service_tier": "default",
        "system_fingerprint": "fp_6b68a8204b", **more,
    }  # fmt: skip


def chunk(delta: dict[str, Any], reason: str | None = None, **more: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
    return {
        "id": "chatcmpl-123", "object": "chat.completion.chunk", "created": 1728933352,
        "model": MODEL, "system_fingerprint": "fp_44709d6fcb", "choices": [choice],
        "usage": None, **more,
    }  # fmt: skip


COUNTED = chunk({}, choices=[], usage=USED)


def error(status: int, kind: str, code: str | None, message: str, **headers: str) -> Reply:
    said = {"message": message, "type": kind, "param": None, "code": code}
    return document(status, {"error": said}, **headers)


def said(text: str | None, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": text, "refusal": None, "annotations": [], **more}


def called(index: int | None = None) -> dict[str, Any]:
    numbered = {} if index is None else {"index": index}
    function = {"name": CALL.name, "arguments": CALL.arguments}
    return {**numbered, "id": CALL.id, "type": "function", "function": function}


def piece_of_call(arguments: str) -> dict[str, Any]:
    return {"tool_calls": [{"index": 0, "function": {"arguments": arguments}}]}


KNOWN: dict[str, Any] = {"model": MODEL, "request_id": ID, "usage": READ, "recorded": RECORDED}
"""What is read of every good reply."""

EXAMPLES = {
    "answer": Example(
        reply=document(200, completion(said("Grüße")), **HEADERS), text="Grüße", **KNOWN
    ),
    "stream": Example(
        reply=events(
            chunk({"role": "assistant", "content": "", "refusal": None}),
            chunk({"content": "Grü"}),
            chunk({"content": "ße"}),
            chunk({}, "stop"),
            COUNTED,
            done=True,
            headers=HEADERS,
        ),
        stream=True, text="Grüße", **KNOWN,
    ),
    "tool_call": Example(
        reply=document(
            200, completion(said(None, tool_calls=[called()]), "tool_calls"), **HEADERS
        ),
        finish_reason="tool_calls", tool_calls=(CALL,), **KNOWN,
    ),
    "tool_call_stream": Example(
        reply=events(
            chunk({"role": "assistant", "content": None, "tool_calls": [
                {"index": 0, "id": CALL.id, "type": "function",
                 "function": {"name": CALL.name, "arguments": ""}},
            ]}),
            chunk(piece_of_call(CALL.arguments[:5])),
            chunk(piece_of_call(CALL.arguments[5:])),
            chunk({}, "tool_calls"),
            COUNTED,
            done=True,
            headers=HEADERS,
        ),
        stream=True, finish_reason="tool_calls", tool_calls=(CALL,), **KNOWN,
    ),
    "cut_off": Example(
        reply=document(200, completion(said("Once upon"), "length"), **HEADERS),
        text="Once upon", finish_reason="length", **KNOWN,
    ),
    "refused": Example(
        reply=document(200, completion(said(None, refusal="I can't help with that.")), **HEADERS),
        refusal="I can't help with that.", **KNOWN,
    ),
    "refused_stream": Example(
        reply=events(
            chunk({"role": "assistant", "content": None, "refusal": "I can't "}),
            chunk({"refusal": "help with that."}),
            chunk({}, "stop"),
            COUNTED,
            done=True,
            headers=HEADERS,
        ),
        stream=True, refusal="I can't help with that.", **KNOWN,
    ),
    "blocked": Example(
        reply=document(200, completion(said(""), "content_filter"), **HEADERS),
        finish_reason="content_filter", **KNOWN,
    ),
    "blocked_request": Example(
        reply=error(
            400, "invalid_request_error", "content_filter",
            "The response was filtered due to the prompt triggering a policy.", x_request_id=ID,
        ),
        finish_reason="content_filter", request_id=ID,
        refusal="The response was filtered due to the prompt triggering a policy.",
    ),
    "rate_limited": Example(
        reply=error(
            429, "requests", "rate_limit_exceeded", "Rate limit reached for gpt-4o",
            retry_after="7",
            **HEADERS,
        ),
        kind="rate_limited", disposition="deferred", retry_after_s=7.0,
        says="Rate limit reached for gpt-4o", recorded=RECORDED,
    ),
    "no_credit": Example(
        reply=error(
            429, "insufficient_quota", "insufficient_quota",
            "You exceeded your current quota, please check your plan and billing details.",
        ),
        kind="payment_required", disposition="halting", says="check your plan",
    ),
    "no_credit_in_stream": Example(
        reply=events(
            {"error": {
                "message": "You exceeded your current quota", "type": "insufficient_quota",
                "param": None, "code": "insufficient_quota",
            }},
        ),
        stream=True, kind="payment_required", disposition="halting", says="exceeded your current",
    ),
    "overloaded": Example(
        reply=error(503, "server_error", None, "The engine is currently overloaded"),
        kind="server_error", says="The engine is currently overloaded",
    ),
    "server_error": Example(
        reply=error(500, "server_error", None, "The server had an error", **HEADERS),
        kind="server_error", says="The server had an error", recorded=RECORDED,
    ),
    "context_length": Example(
        reply=error(
            400, "invalid_request_error", "context_length_exceeded",
            "This model's maximum context length is 128000 tokens.",
        ),
        kind="bad_request", disposition="final", says="maximum context length",
    ),
    "wrong_key": Example(
        reply=error(401, "invalid_request_error", "invalid_api_key", "Incorrect API key provided"),
        kind="authentication", disposition="halting", says="Incorrect API key",
    ),
    "no_such_model": Example(
        reply=error(404, "invalid_request_error", "model_not_found", "The model does not exist"),
        kind="not_found", disposition="halting", says="does not exist",
    ),
    "empty": Example(
        reply=document(200, completion(said(None), choices=[])), kind="empty_choices"
    ),
    "error_in_stream": Example(
        reply=events(
            chunk({"role": "assistant", "content": "half"}),
            {"error": {"message": "The server had an error", "type": "server_error", "code": None}},
        ),
        stream=True, kind="provider_error", says="The server had an error",
    ),
}  # fmt: skip

SPEAKS = Speaks(
    provider="openai",
    reference="https://platform.openai.com/docs/api-reference/chat",
    entry={"model": "gpt-4o"},
    path="/v1",
    asked_at="/v1/chat/completions",
    costs=93 * 2
    + 1024 * 0.2
    + 46 * 10,  # cached ones are among those asked, thoughts among those answered
    examples=EXAMPLES,
    ends={word: word for word in ENDS},
    ended=lambda reason: document(200, completion(said("Fir"), reason)),
)
