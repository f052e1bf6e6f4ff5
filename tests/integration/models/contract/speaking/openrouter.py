"""OpenRouter, as documented in its reference.

https://openrouter.ai/docs/api/reference/overview
https://openrouter.ai/docs/api/reference/errors-and-debugging
"""

from __future__ import annotations

from typing import Any

from failproof_es.testing.other_side import Reply
from tests.integration.models.contract.speaking import openai
from tests.integration.models.contract.speaking.example import Example, Speaks, document, events
from tests.integration.models.contract.speaking.openai import CALL, READ, called

MODEL = "openai/gpt-4o"
ID = "gen-1763900000-abc"
HEADERS = {"x_generation_id": ID, "x_ratelimit_remaining": "19"}
RECORDED = {name.replace("_", "-"): value for name, value in HEADERS.items()}
USED = {**openai.USED, "cost": 0.00014, "is_byok": False}


def completion(message: dict[str, Any], reason: str = "stop", **more: Any) -> dict[str, Any]:
    choice = {
        "logprobs": None, "finish_reason": reason, "native_finish_reason": reason, "index": 0,
        "message": message, **more,
    }  # fmt: skip
    return {
        "id": ID, "provider": "OpenAI", "model": MODEL, "object": "chat.completion",
        "created": 1763900000, "system_fingerprint": None, "choices": [choice], "usage": USED,
    }  # fmt: skip


def chunk(delta: dict[str, Any], reason: str | None = None, **more: Any) -> dict[str, Any]:
    choice = {
        "index": 0, "delta": delta, "finish_reason": reason, "native_finish_reason": reason,
    }  # fmt: skip
    return {
        "id": ID, "provider": "OpenAI", "model": MODEL, "object": "chat.completion.chunk",
        "created": 1763900000, "choices": [choice], **more,
    }  # fmt: skip


def said(text: str | None, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": text, "refusal": None, "reasoning": "Hm.", **more}


def error(status: int, told: str, metadata: Any = None, **headers: str) -> Reply:
    more = {} if metadata is None else {"metadata": metadata}
    failed = {"error": {"message": told, "code": status, **more}, "user_id": "user_test"}
    return document(status, failed, **headers)


def waiting(reply: Reply) -> Reply:
    """The same stream with the comments by which the connection is kept."""
    return Reply(200, [b": OPENROUTER PROCESSING\n\n", *reply.pieces], reply.content_type,
                 reply.headers)  # fmt: skip


KNOWN: dict[str, Any] = {"model": MODEL, "request_id": ID, "usage": READ, "recorded": RECORDED}
FLAGGED = {
    "reasons": ["violence"], "flagged_input": "How do I...", "provider_name": "OpenAI",
    "model_slug": MODEL,
}  # fmt: skip

EXAMPLES = {
    "answer": Example(
        reply=document(200, completion(said("Grüße")), **HEADERS), text="Grüße", **KNOWN
    ),
    "stream": Example(
        reply=waiting(
            events(
                chunk({"role": "assistant", "content": ""}),
                chunk({"content": "", "reasoning": "Hm."}),
                chunk({"content": "Grü"}),
                chunk({"content": "ße"}),
                chunk({"content": ""}, "stop"),
                chunk({"role": "assistant", "content": ""}, usage=USED),
                done=True,
                headers=HEADERS,
            )
        ),
        stream=True, text="Grüße", **KNOWN,
    ),
    "tool_call": Example(
        reply=document(200, completion(said("", tool_calls=[called(0)]), "tool_calls"), **HEADERS),
        finish_reason="tool_calls", tool_calls=(CALL,), **KNOWN,
    ),
    "tool_call_stream": Example(
        reply=events(
            chunk({"role": "assistant", "content": None, "tool_calls": [called(0)]}),
            chunk({}, "tool_calls", usage=USED),
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
        reply=document(200, completion(said(None, refusal="I can't.")), **HEADERS),
        refusal="I can't.", **KNOWN,
    ),
    "blocked": Example(
        reply=document(200, completion(said(""), "content_filter"), **HEADERS),
        finish_reason="content_filter", **KNOWN,
    ),
    "blocked_request": Example(
        reply=error(403, "Your input was flagged", FLAGGED, **HEADERS),
        finish_reason="content_filter", refusal="Your input was flagged", request_id=ID,
        recorded=RECORDED,
    ),
    "refused_by_the_vendor": Example(
        reply=error(
            400, "Provider returned error",
            {"error_type": "content_policy_violation", "provider_code": "content_filter"},
            **HEADERS,
        ),
        finish_reason="content_filter", refusal="Provider returned error", request_id=ID,
        recorded=RECORDED,
    ),
    "out_of_credit_in_stream": Example(
        reply=events({"error": {"code": 402, "message": "Insufficient credits"}}),
        stream=True, kind="payment_required", disposition="halting", says="Insufficient credits",
    ),
    "forbidden": Example(
        reply=error(403, "Key limit exceeded"),
        kind="payment_required", disposition="halting", says="Key limit exceeded",
    ),
    "no_credits": Example(
        reply=error(402, "Insufficient credits"),
        kind="payment_required", disposition="halting", says="Insufficient credits",
    ),
    "rate_limited": Example(
        reply=error(429, "Rate limit exceeded: free-models-per-min", retry_after="7", **HEADERS),
        kind="rate_limited", disposition="deferred", retry_after_s=7.0, says="Rate limit exceeded",
        recorded=RECORDED,
    ),
    "overloaded": Example(
        reply=error(502, "Provider returned error", {"provider_name": "OpenAI", "raw": "busy"}),
        kind="server_error", says="Provider returned error",
    ),
    "server_error": Example(
        reply=error(500, "Internal Server Error"), kind="server_error", says="Internal",
    ),
    "overloaded_under_200": Example(
        reply=document(200, {"error": {"message": "Provider returned error", "code": 502}}),
        kind="provider_error", says="Provider returned error",
    ),
    "error_in_a_choice": Example(
        reply=document(
            200,
            completion(
                said("half"), "error", error={"message": "Upstream error", "code": 502}
            ),
        ),
        kind="provider_error", says="Upstream error",
    ),
    "context_length": Example(
        reply=error(400, "This endpoint's maximum context length is 128000 tokens."),
        kind="bad_request", disposition="final", says="maximum context length",
    ),
    "wrong_key": Example(
        reply=error(401, "No auth credentials found"),
        kind="authentication", disposition="halting", says="No auth credentials",
    ),
    "no_such_model": Example(
        reply=error(404, "No endpoints found for openai/gpt-nope."),
        kind="not_found", disposition="halting", says="No endpoints found",
    ),
    "empty": openai.EXAMPLES["empty"],
    "error_in_stream": Example(
        reply=events(
            chunk({"role": "assistant", "content": "half"}),
            chunk(
                {"content": ""}, "error",
                error={"code": "server_error", "message": "Provider disconnected"},
            ),
        ),
        stream=True, kind="provider_error", says="Provider disconnected",
    ),
}  # fmt: skip

SPEAKS = Speaks(
    provider="openrouter",
    reference="https://openrouter.ai/docs/api/reference/overview",
    entry={"model": MODEL},
    path="/api/v1",
    asked_at="/api/v1/chat/completions",
    costs=openai.SPEAKS.costs,
    examples=EXAMPLES,
    ends={**{word: word for word in openai.ENDS}, "error": "!provider_error"},
    ended=lambda reason: document(200, completion(said("Fir"), reason)),
)
