"""Azure OpenAI, as documented in its reference and the guide to its content filters.

https://learn.microsoft.com/en-us/azure/ai-services/openai/reference
https://learn.microsoft.com/en-us/azure/ai-services/openai/concepts/content-filter
"""

from __future__ import annotations

from typing import Any

from failproof_es.testing.other_side import Reply
from tests.integration.models.contract.speaking import openai
from tests.integration.models.contract.speaking.example import Example, Speaks, document, events
from tests.integration.models.contract.speaking.openai import (
    CALL,
    COUNTED,
    ENDS,
    MODEL,
    READ,
    called,
    chunk,
    completion,
    said,
)

ID = "0c6b3d8e-1f2a-4b5c-9d7e-8a9b0c1d2e3f"
HEADERS = {
    "apim_request_id": ID,
    "x_ms_region": "East US",
    "x_ms_deployment_name": "mine",
    "azureml_model_session": "d003-20260101",
    "x_ratelimit_remaining_requests": "99",
    "x_ratelimit_remaining_tokens": "99000",
}
RECORDED = {name.replace("_", "-"): value for name, value in HEADERS.items()}
SAFE = {"filtered": False, "severity": "safe"}
FILTERS = {"hate": SAFE, "self_harm": SAFE, "sexual": SAFE, "violence": SAFE}
FIRED = {**FILTERS, "violence": {"filtered": True, "severity": "high"}}
ASKED = [{"prompt_index": 0, "content_filter_results": FILTERS}]
FILTERED = (
    "The response was filtered due to the prompt triggering Azure OpenAI's content management "
    "policy."
)


def filtered(message: dict[str, Any], reason: str, results: Any = FILTERS) -> dict[str, Any]:
    whole = completion(message, reason, prompt_filter_results=ASKED)
    whole["choices"][0]["content_filter_results"] = results
    return whole


def error(status: int, code: str, told: str, **headers: str) -> Reply:
    return document(status, {"error": {"code": code, "message": told}}, **headers)


KNOWN: dict[str, Any] = {"model": MODEL, "request_id": ID, "usage": READ, "recorded": RECORDED}

EXAMPLES = {
    "answer": Example(
        reply=document(200, filtered(said("Grüße"), "stop"), **HEADERS), text="Grüße", **KNOWN
    ),
    "stream": Example(
        reply=events(
            {
                "choices": [], "created": 0, "id": "", "model": "", "object": "",
                "prompt_filter_results": ASKED,
            },
            chunk({"role": "assistant", "content": ""}),
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
            200, filtered(said(None, tool_calls=[called()]), "tool_calls"), **HEADERS
        ),
        finish_reason="tool_calls", tool_calls=(CALL,), **KNOWN,
    ),
    "tool_call_stream": Example(
        reply=events(
            chunk({"role": "assistant", "content": None, "tool_calls": [called(0)]}),
            chunk({}, "tool_calls"),
            COUNTED,
            done=True,
            headers=HEADERS,
        ),
        stream=True, finish_reason="tool_calls", tool_calls=(CALL,), **KNOWN,
    ),
    "cut_off": Example(
        reply=document(200, filtered(said("Once upon"), "length"), **HEADERS),
        text="Once upon", finish_reason="length", **KNOWN,
    ),
    "refused": Example(
        reply=document(200, filtered(said(None, refusal="I can't."), "stop"), **HEADERS),
        refusal="I can't.", **KNOWN,
    ),
    "blocked": Example(
        reply=document(200, filtered(said("Fir"), "content_filter", FIRED), **HEADERS),
        text="Fir", finish_reason="content_filter", **KNOWN,
    ),
    "blocked_stream": Example(
        reply=events(
            chunk({"role": "assistant", "content": "Fir"}),
            chunk({}, "content_filter"),
            done=True,
            headers=HEADERS,
        ),
        stream=True, text="Fir", finish_reason="content_filter", model=MODEL, request_id=ID,
    ),
    "blocked_request": Example(
        reply=document(
            400,
            {
                "error": {
                    "message": FILTERED, "type": None, "param": "prompt", "code": "content_filter",
                    "status": 400,
                    "innererror": {
                        "code": "ResponsibleAIPolicyViolation", "content_filter_result": FIRED,
                    },
                }
            },
            **HEADERS,
        ),
        finish_reason="content_filter", refusal=FILTERED, request_id=ID, recorded=RECORDED,
    ),
    "rate_limited": Example(
        reply=error(429, "429", "Rate limit is exceeded. Try again in 7 seconds.", retry_after="7"),
        kind="rate_limited", disposition="deferred", retry_after_s=7.0, says="Rate limit",
    ),
    "rate_limited_for_milliseconds": Example(
        reply=error(429, "429", "Try again.", retry_after="1", retry_after_ms="250"),
        kind="rate_limited", disposition="deferred", retry_after_s=0.25,
        recorded={"retry-after-ms": "250"},
    ),
    "overloaded": Example(
        reply=error(503, "ServiceUnavailable", "The service is temporarily unable"),
        kind="server_error", says="temporarily unable",
    ),
    "server_error": Example(
        reply=error(500, "InternalServerError", "Internal server error", **HEADERS),
        kind="server_error", says="Internal server error", recorded=RECORDED,
    ),
    "context_length": openai.EXAMPLES["context_length"],
    "wrong_key": Example(
        reply=error(401, "401", "Access denied due to invalid subscription key"),
        kind="authentication", disposition="halting", says="invalid subscription key",
    ),
    "no_such_model": Example(
        reply=error(404, "DeploymentNotFound", "The API deployment does not exist."),
        kind="not_found", disposition="halting", says="does not exist",
    ),
    "empty": openai.EXAMPLES["empty"],
    "error_in_stream": openai.EXAMPLES["error_in_stream"],
}  # fmt: skip

PATH = "/openai/deployments/mine/chat/completions?api-version=2024-10-21"
SPEAKS = Speaks(
    provider="azure",
    reference="https://learn.microsoft.com/en-us/azure/ai-services/openai/reference",
    entry={"model": "gpt-4o", "options": {"deployment": "mine"}},
    asked_at=PATH,
    key=("api-key", ""),
    costs=openai.SPEAKS.costs,
    examples=EXAMPLES,
    ends={word: word for word in ENDS},
    ended=lambda reason: document(200, filtered(said("Fir"), reason)),
    lists_models=False,
)
