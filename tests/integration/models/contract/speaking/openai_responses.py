"""OpenAI's Responses API, as documented in its reference.

https://platform.openai.com/docs/api-reference/responses/object
https://platform.openai.com/docs/api-reference/responses-streaming
"""

from __future__ import annotations

from typing import Any

from failproof_es.events import ToolCall, Usage
from failproof_es.testing.other_side import Reply
from tests.integration.models.contract.speaking.example import Example, Speaks, document, events
from tests.integration.models.contract.speaking.openai import EXAMPLES as CHAT
from tests.integration.models.contract.speaking.openai import HEADERS, ID, RECORDED, error
from tests.integration.models.contract.wires import ResponsesWire

MODEL = "gpt-5-2025-08-07"
USED: dict[str, Any] = {
    "input_tokens": 328,
    "input_tokens_details": {"cached_tokens": 256, "cache_write_tokens": 16},
    "output_tokens": 135,
    "output_tokens_details": {"reasoning_tokens": 128},
    "total_tokens": 463,
}
READ = Usage(
    input_tokens=328, output_tokens=135, cached_input_tokens=256, cache_write_tokens=16,
    reasoning_tokens=128,
)  # fmt: skip
CALL = ToolCall(id="call_unLAR8MvFNptuiZK6K6HCy5k", name="search", arguments='{"q": "naïve"}')
THOUGHT: dict[str, Any] = {
    "id": "rs_68af4030592c",
    "type": "reasoning",
    "summary": [],
    "status": None,
}


def message(*parts: dict[str, Any], status: str = "completed") -> dict[str, Any]:
    return {
        "id": "msg_67ccd3acc8d4", "type": "message", "status": status, "role": "assistant",
        "content": list(parts),
    }  # fmt: skip


def text(said: str) -> dict[str, Any]:
    return {"type": "output_text", "text": said, "annotations": [], "logprobs": []}


def refusal(said: str) -> dict[str, Any]:
    return {"type": "refusal", "refusal": said}


CALLED = {
    "id": "fc_67ca09c6bedc", "type": "function_call", "status": "completed", "call_id": CALL.id,
    "name": CALL.name, "arguments": CALL.arguments,
}  # fmt: skip


def response(*items: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "id": "resp_67ccd3a9da74", "object": "response", "created_at": 1741476777,
        "status": "completed", "background": False, "error": None, "incomplete_details": None,
        "instructions": None, "max_output_tokens": 1000, "model": MODEL, "output": list(items),
        "parallel_tool_calls": True, "previous_response_id": None,
        "reasoning": {"effort": "medium", "summary": None}, "store": False, "temperature": 1.0,
        "text": {"format": {"type": "text"}}, "tool_choice": "auto", "tools": [], "top_p": 1.0,
        "truncation": "disabled", "usage": USED, "user": None, "metadata": {}, **more,
    }  # fmt: skip


def incomplete(reason: str, *items: dict[str, Any]) -> dict[str, Any]:
    return response(*items, status="incomplete", incomplete_details={"reason": reason})


def streamed(last: dict[str, Any], *deltas: dict[str, Any], items: bool = True) -> Reply:
    """All kinds of events in their order: a thought, and one item beside it."""
    begun = {**last, "status": "in_progress", "output": [], "usage": None}
    kinds: list[dict[str, Any]] = [
        {"type": "response.created", "response": begun},
        {"type": "response.in_progress", "response": begun},
        {"type": "response.output_item.added", "output_index": 0, "item": THOUGHT},
        {
            "type": "response.reasoning_summary_text.delta",
            "item_id": "rs",
            "delta": "I greet.",
            "output_index": 0,
            "summary_index": 0,
        },
        {"type": "response.output_item.done", "output_index": 0, "item": THOUGHT},
        {"type": "response.output_item.added", "output_index": 1, "item": message()},
        *deltas,
        *(
            {"type": "response.output_item.done", "output_index": 1, "item": item}
            for item in last["output"][1:]
        ),
        {
            "type": f"response.{last['status']}",
            "response": last if items else {**last, "output": []},
        },
    ]
    numbered = [{**event, "sequence_number": at} for at, event in enumerate(kinds)]
    return events(*numbered, named=True, headers=HEADERS)


def delta(kind: str, said: str) -> dict[str, Any]:
    return {
        "type": f"response.{kind}.delta", "item_id": "msg_67ccd3acc8d4", "output_index": 1,
        "content_index": 0, "delta": said, "logprobs": [],
    }  # fmt: skip


KNOWN: dict[str, Any] = {"model": MODEL, "request_id": ID, "usage": READ, "recorded": RECORDED}
WHOLE = response(THOUGHT, message(text("Grüße")))

EXAMPLES = {
    "answer": Example(reply=document(200, WHOLE, **HEADERS), text="Grüße", **KNOWN),
    "stream": Example(
        reply=streamed(WHOLE, delta("output_text", "Grü"), delta("output_text", "ße")),
        stream=True, text="Grüße", **KNOWN,
    ),
    "commentary": Example(
        reply=document(
            200,
            response(
                {**message(text("Let me see.")), "phase": "commentary"},
                {**message(text("Grüße")), "phase": "final_answer"},
            ),
            **HEADERS,
        ),
        text="Grüße", **KNOWN,
    ),
    "stream_of_items": Example(
        reply=streamed(
            WHOLE, delta("output_text", "Grü"), delta("output_text", "ße"), items=False
        ),
        stream=True, text="Grüße", **KNOWN,
    ),
    "tool_call": Example(
        reply=document(200, response(THOUGHT, CALLED), **HEADERS),
        finish_reason="tool_calls", tool_calls=(CALL,), **KNOWN,
    ),
    "tool_call_stream": Example(
        reply=streamed(
            response(THOUGHT, CALLED),
            delta("function_call_arguments", CALL.arguments[:5]),
            delta("function_call_arguments", CALL.arguments[5:]),
        ),
        stream=True, finish_reason="tool_calls", tool_calls=(CALL,), **KNOWN,
    ),
    "cut_off": Example(
        reply=document(
            200,
            incomplete("max_output_tokens", message(text("Once upon"), status="incomplete")),
            **HEADERS,
        ),
        text="Once upon", finish_reason="length", **KNOWN,
    ),
    "only_thoughts": Example(
        reply=document(200, incomplete("max_output_tokens", THOUGHT), **HEADERS),
        finish_reason="length", **KNOWN,
    ),
    "cut_off_stream": Example(
        reply=streamed(
            incomplete("max_output_tokens", THOUGHT, message(text("Once"), status="incomplete")),
            delta("output_text", "Once"),
        ),
        stream=True, text="Once", finish_reason="length", **KNOWN,
    ),
    "refused": Example(
        reply=document(200, response(message(refusal("I can't help with that."))), **HEADERS),
        refusal="I can't help with that.", **KNOWN,
    ),
    "refused_stream": Example(
        reply=streamed(
            response(THOUGHT, message(refusal("I can't."))), delta("refusal", "I can't.")
        ),
        stream=True, refusal="I can't.", **KNOWN,
    ),
    "blocked": Example(
        reply=document(200, incomplete("content_filter", message(text("Fir"))), **HEADERS),
        text="Fir", finish_reason="content_filter", **KNOWN,
    ),
    "blocked_request": Example(
        reply=error(
            400, "invalid_request_error", "invalid_prompt",
            "Invalid prompt: your prompt was flagged as violating our usage policy.",
            x_request_id=ID,
        ),
        finish_reason="content_filter", request_id=ID,
        refusal="Invalid prompt: your prompt was flagged as violating our usage policy.",
    ),
    **{
        name: CHAT[name]
        for name in (
            *("rate_limited", "overloaded", "server_error", "context_length", "wrong_key"),
            "no_such_model",
        )
    },
    "failed": Example(
        reply=document(
            200,
            response(
                status="failed", usage=None,
                error={"code": "server_error", "message": "An error occurred"},
            ),
        ),
        kind="provider_error", says="An error occurred",
    ),
    **{
        f"blocked_by_{code}": Example(
            reply=document(
                200,
                response(status="failed", error={"code": code, "message": "It breaks a policy."}),
                **HEADERS,
            ),
            finish_reason="content_filter", refusal="It breaks a policy.", **KNOWN,
        )
        for code in ("invalid_prompt", "bio_policy", "misalignment_policy_violation")
    },
    "blocked_stream": Example(
        reply=streamed(
            response(
                THOUGHT, status="failed", usage=None,
                error={"code": "bio_policy", "message": "It breaks a policy."},
            )
        ),
        stream=True, finish_reason="content_filter", refusal="It breaks a policy.", model=MODEL,
        request_id=ID, recorded=RECORDED,
    ),
    "invalid_prompt": Example(
        reply=document(
            200,
            response(
                status="failed", error={"code": "invalid_prompt", "message": "It is too odd."}
            ),
        ),
        kind="provider_error", disposition="final", says="too odd",
    ),
    "unfinished": Example(
        reply=document(200, response(status="queued")), kind="malformed_response", says="queued"
    ),
    "empty": Example(reply=document(200, response()), kind="missing_content"),
    "thoughts_and_no_message": Example(
        reply=document(200, response(THOUGHT)), request_id="resp_67ccd3a9da74", model=MODEL,
        usage=READ,
    ),
    "failed_stream": Example(
        reply=streamed(
            response(
                THOUGHT, status="failed", usage=None,
                error={"code": "rate_limit_exceeded", "message": "Request too large"},
            )
        ),
        stream=True, kind="rate_limited", disposition="deferred", says="Request too large",
    ),
    "error_in_stream": Example(
        reply=events(
            {"type": "response.created", "response": response(status="in_progress")},
            delta("output_text", "half"),
            {
                "type": "error", "code": "server_error", "message": "The server had an error",
                "param": None, "sequence_number": 2,
            },
            named=True,
        ),
        stream=True, kind="provider_error", says="The server had an error",
    ),
}  # fmt: skip

SPEAKS = Speaks(
    provider="openai-responses",
    reference="https://platform.openai.com/docs/api-reference/responses/object",
    entry={"model": "gpt-5"},
    path="/v1",
    asked_at="/v1/responses",
    costs=(328 - 256 - 16) * 2 + 256 * 0.2 + 16 * 2.5 + 135 * 10,
    examples=EXAMPLES,
    ends={
        "max_output_tokens": "length",
        "content_filter": "content_filter",
        "max_messages": "max_messages",
        "steered": "steered",
    },
    ended=lambda reason: document(200, incomplete(reason, message(text("Fir")))),
    wire=ResponsesWire,
)
