"""Google's Gemini API, as documented in its reference.

https://ai.google.dev/api/generate-content
https://ai.google.dev/gemini-api/docs/troubleshooting
https://cloud.google.com/apis/design/errors
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
from tests.integration.models.contract.wires import GeminiWire

MODEL = "gemini-2.5-flash"
ID = "mAitaLmkHPPlz7IPvtfUqQ4"
USED: dict[str, Any] = {
    "promptTokenCount": 2152,
    "candidatesTokenCount": 710,
    "totalTokenCount": 4062,
    "cachedContentTokenCount": 2027,
    "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 2152}],
    "thoughtsTokenCount": 1200,
}
READ = Usage(input_tokens=2152, output_tokens=1910, cached_input_tokens=2027, reasoning_tokens=1200)
CALL = call("search", {"q": "naïve"})
RATINGS = [
    {"category": "HARM_CATEGORY_HATE_SPEECH", "probability": "NEGLIGIBLE"},
    {"category": "HARM_CATEGORY_DANGEROUS_CONTENT", "probability": "HIGH", "blocked": True},
]
TYPE = "type.googleapis.com/google.rpc."
TIMED = {"server_timing": "gfet4t7; dur=812"}
RECORDED = {"server-timing": "gfet4t7; dur=812"}


def response(*candidates: dict[str, Any], **more: Any) -> dict[str, Any]:
    told = {"candidates": list(candidates)} if candidates else {}
    return {
        **told, "usageMetadata": USED, "modelVersion": MODEL, "responseId": ID, **more,
    }  # fmt: skip


def candidate(*parts: dict[str, Any], reason: str | None = "STOP", **more: Any) -> dict[str, Any]:
    content = {"content": {"parts": list(parts), "role": "model"}} if parts else {}
    ended = {} if reason is None else {"finishReason": reason}
    return {**content, **ended, "index": 0, **more}


THOUGHT = {"text": "I greet.", "thought": True}
CALLED = {
    "functionCall": {"name": CALL.name, "args": orjson.loads(CALL.arguments)},
    "thoughtSignature": "CpQCAdHtim9SNQF0",
}


def error(status: int, word: str, said: str, *details: dict[str, Any]) -> Reply:
    told = {"details": list(details)} if details else {}
    return document(status, {"error": {"code": status, "message": said, "status": word, **told}})


KNOWN: dict[str, Any] = {"model": MODEL, "request_id": ID, "usage": READ}

EXAMPLES = {
    "answer": Example(
        reply=document(200, response(candidate(THOUGHT, {"text": "Grüße"})), **TIMED),
        text="Grüße", recorded=RECORDED, **KNOWN,
    ),
    "stream": Example(
        reply=events(
            response(
                candidate(THOUGHT, reason=None),
                usageMetadata={"promptTokenCount": 2152, "thoughtsTokenCount": 40},
            ),
            response(candidate({"text": "Grü"}, reason=None)),
            response(candidate({"text": "ße"}, reason=None)),
            response(candidate({"text": ""})),
        ),
        stream=True, text="Grüße", **KNOWN,
    ),
    "tool_call": Example(
        reply=document(200, response(candidate(CALLED))),
        finish_reason="tool_calls", tool_calls=(CALL,), **KNOWN,
    ),
    "tool_call_stream": Example(
        reply=events(response(candidate(CALLED, reason=None)), response(candidate({"text": ""}))),
        stream=True, finish_reason="tool_calls", tool_calls=(CALL,), **KNOWN,
    ),
    "cut_off": Example(
        reply=document(200, response(candidate({"text": "Once upon"}, reason="MAX_TOKENS"))),
        text="Once upon", finish_reason="length", **KNOWN,
    ),
    "only_thoughts": Example(
        reply=document(
            200,
            response(
                candidate(reason="MAX_TOKENS"),
                usageMetadata={
                    "promptTokenCount": 7, "totalTokenCount": 106, "thoughtsTokenCount": 99,
                },
            ),
        ),
        finish_reason="length", model=MODEL, request_id=ID,
        usage=Usage(
            input_tokens=7, output_tokens=99, cached_input_tokens=0, reasoning_tokens=99
        ),
    ),
    "blocked": Example(
        reply=document(200, response(candidate(reason="SAFETY", safetyRatings=RATINGS))),
        finish_reason="content_filter", refusal="SAFETY", **KNOWN,
    ),
    "blocked_stream": Example(
        reply=events(
            response(candidate({"text": "Fir"}, reason=None)),
            response(
                candidate(reason="RECITATION", finishMessage="It recites.", safetyRatings=RATINGS)
            ),
        ),
        stream=True, text="Fir", finish_reason="content_filter", refusal="It recites.", **KNOWN,
    ),
    "blocked_request": Example(
        reply=document(
            200,
            response(promptFeedback={"blockReason": "PROHIBITED_CONTENT"}),
        ),
        finish_reason="content_filter", refusal="PROHIBITED_CONTENT", **KNOWN,
    ),
    "blocked_request_stream": Example(
        reply=events(
            response(promptFeedback={"blockReason": "SAFETY", "safetyRatings": RATINGS}),
        ),
        stream=True, finish_reason="content_filter", refusal="SAFETY", **KNOWN,
    ),
    "unknown_end": Example(
        reply=document(
            200, response(candidate({"text": "x"}, reason="MALFORMED_FUNCTION_CALL"))
        ),
        text="x", finish_reason="MALFORMED_FUNCTION_CALL", **KNOWN,
    ),
    "rate_limited": Example(
        reply=error(
            429, "RESOURCE_EXHAUSTED", "You exceeded your current quota",
            {"@type": f"{TYPE}QuotaFailure", "violations": [{"quotaId": "PerMinute"}]},
            {"@type": f"{TYPE}RetryInfo", "retryDelay": "34.074824224s"},
        ),
        kind="rate_limited", disposition="deferred", retry_after_s=34.074824224,
        says="exceeded your current quota",
    ),
    "overloaded": Example(
        reply=error(503, "UNAVAILABLE", "The model is overloaded. Please try again later."),
        kind="overloaded", disposition="deferred", says="The model is overloaded",
    ),
    "server_error": Example(
        reply=error(500, "INTERNAL", "An internal error has occurred"),
        kind="server_error", says="An internal error",
    ),
    "context_length": Example(
        reply=error(
            400, "INVALID_ARGUMENT", "The input token count exceeds the maximum number of tokens"
        ),
        kind="bad_request", disposition="final", says="exceeds the maximum",
    ),
    "wrong_key": Example(
        reply=error(
            400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.",
            {
                "@type": f"{TYPE}ErrorInfo", "reason": "API_KEY_INVALID",
                "domain": "googleapis.com",
            },
        ),
        kind="authentication", disposition="halting", says="API key not valid",
    ),
    "no_permission": Example(
        reply=error(403, "PERMISSION_DENIED", "The caller does not have permission"),
        kind="authentication", disposition="halting", says="does not have permission",
    ),
    "no_such_model": Example(
        reply=error(404, "NOT_FOUND", "models/gemini-9 is not found for API version v1beta"),
        kind="not_found", disposition="halting", says="is not found",
    ),
    "empty": Example(reply=document(200, response()), kind="empty_choices"),
    "empty_text": Example(reply=document(200, response(candidate())), **KNOWN),
    "nothing_but_other": Example(
        reply=document(200, response(candidate(reason="OTHER"))), finish_reason="OTHER", **KNOWN
    ),
    **{
        f"nothing_but_{reason.lower()}": Example(
            reply=document(200, response(candidate(reason=reason))),
            kind="missing_content", says=reason,
        )
        for reason in ("MALFORMED_FUNCTION_CALL", "MALFORMED_RESPONSE")
    },
    "rate_limited_in_stream": Example(
        reply=events(
            response(candidate({"text": "half"}, reason=None)),
            {"error": {
                "code": 429, "message": "Quota exceeded", "status": "RESOURCE_EXHAUSTED",
                "details": [{"@type": f"{TYPE}RetryInfo", "retryDelay": "12s"}],
            }},
        ),
        stream=True, kind="rate_limited", disposition="deferred", retry_after_s=12.0,
        says="Quota exceeded",
    ),
    "overloaded_under_200": Example(
        reply=error(200, "UNAVAILABLE", "The model is overloaded."),
        kind="overloaded", disposition="deferred", says="overloaded",
    ),
    "error_in_stream": Example(
        reply=events(
            response(candidate({"text": "half"}, reason=None)),
            {"error": {"code": 503, "message": "The model is overloaded", "status": "UNAVAILABLE"}},
        ),
        stream=True, kind="overloaded", disposition="deferred", says="The model is overloaded",
    ),
}  # fmt: skip

_BLOCKS = (
    *("SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "ESCALATION"),
    *("IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION", "MODEL_ARMOR"),
)
_OTHERS = (
    *("FINISH_REASON_UNSPECIFIED", "OTHER", "MALFORMED_FUNCTION_CALL", "IMAGE_OTHER", "NO_IMAGE"),
    *("UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", "MISSING_THOUGHT_SIGNATURE"),
    "MALFORMED_RESPONSE",
)
ENDS = {
    "STOP": "stop",
    **dict.fromkeys(("MAX_TOKENS", "CONTINUATION"), "length"),
    **dict.fromkeys(_BLOCKS, "content_filter"),
    "PUP_LIMITED_DISABLED": "!authentication",
    **{word: word for word in _OTHERS},
}

SPEAKS = Speaks(
    provider="gemini",
    reference="https://ai.google.dev/api/generate-content",
    entry={"model": MODEL},
    path="/v1beta",
    asked_at=f"/v1beta/models/{MODEL}:generateContent",
    streamed_at=f"/v1beta/models/{MODEL}:streamGenerateContent?alt=sse",
    key=("x-goog-api-key", ""),
    costs=(2152 - 2027) * 2 + 2027 * 0.2 + (710 + 1200) * 10,  # thoughts stand beside the answer
    examples=EXAMPLES,
    ends=ENDS,
    ended=lambda reason: document(200, response(candidate({"text": "Fir"}, reason=reason))),
    unable={"refused": "a model refuses in its text"},
    wire=GeminiWire,
)
