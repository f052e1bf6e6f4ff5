"""Amazon Bedrock's Converse API, as documented in its reference; frames as the SDKs' one has them.

https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html
https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html
https://smithy.io/2.0/aws/amazon-eventstream.html
"""

from __future__ import annotations

from typing import Any

import orjson

from failproof_es.events import Usage
from failproof_es.testing.other_side import Fault, Reply
from tests.integration.models.contract.speaking.example import Example, Speaks, call, document
from tests.integration.models.contract.wires import BedrockWire, aws_frame, event_frame

MODEL = "us.anthropic.claude-sonnet-4-20250514-v1:0"
ID = "7f6f5e2c-3f0e-4d0b-9f3a-1c2d3e4f5a6b"
HEADERS = {"x_amzn_requestid": ID}
RECORDED = {"x-amzn-requestid": ID}
USED = {
    "inputTokens": 30, "outputTokens": 628, "totalTokens": 1858,
    "cacheReadInputTokens": 1000, "cacheWriteInputTokens": 200,
}  # fmt: skip
READ = Usage(input_tokens=1230, output_tokens=628, cached_input_tokens=1000, cache_write_tokens=200)
CALL = call("search", {"q": "naïve"}, "tooluse_hbTgdi0CSLq_hM4P8csZJA")
ODD_HEADERS = b"".join(
    b"\x04:odd" + bytes([kind]) + value
    for kind, value in enumerate(
        (
            b"",
            b"",
            b"\x01",
            b"ab",
            b"abcd",
            b"abcdefgh",
            b"\x00\x02ab",
            b"\x00\x02ab",
            bytes(8),
            bytes(16),
        )
    )
)
"""A header of every type that there is, the first one yes and the last one a UUID."""
THOUGHT = {"reasoningContent": {"reasoningText": {"text": "I greet.", "signature": "EqQB"}}}
USE = {"toolUseId": CALL.id, "name": CALL.name}


def said(*blocks: dict[str, Any], reason: str = "end_turn", **more: Any) -> dict[str, Any]:
    return {
        "output": {"message": {"role": "assistant", "content": list(blocks)}},
        "stopReason": reason, "usage": USED, "metrics": {"latencyMs": 1275}, **more,
    }  # fmt: skip


def event(kind: str, **payload: Any) -> bytes:
    return event_frame(kind, {**payload, "p": "abcdefgh"})


def delta(index: int, **more: Any) -> bytes:
    return event("contentBlockDelta", contentBlockIndex=index, delta=more)


def frames(*written: bytes) -> Reply:
    kind = "application/vnd.amazon.eventstream"
    return Reply(200, list(written), kind, {"x-amzn-requestid": ID})


def error(status: int, kind: str, message: str) -> Reply:
    return document(
        status, {"message": message}, x_amzn_errortype=f"{kind}:http://internal.amazon.com/",
        **HEADERS,
    )  # fmt: skip


START = event("messageStart", role="assistant")
METADATA = event("metadata", usage=USED, metrics={"latencyMs": 1275})


def stop(reason: str) -> bytes:
    return event("messageStop", stopReason=reason)


KNOWN: dict[str, Any] = {"request_id": ID, "usage": READ, "recorded": RECORDED}
GUARDED = "Sorry, the model cannot answer this question."

EXAMPLES = {
    "answer": Example(
        reply=document(200, said(THOUGHT, {"text": "Grüße"}), **HEADERS), text="Grüße", **KNOWN
    ),
    "stream": Example(
        reply=frames(
            START,
            delta(0, reasoningContent={"text": "I greet."}),
            delta(0, reasoningContent={"signature": "EqQB"}),
            event("contentBlockStop", contentBlockIndex=0),
            delta(1, text="Grü"),
            delta(1, text="ße"),
            event("contentBlockStop", contentBlockIndex=1),
            stop("end_turn"),
            METADATA,
        ),
        stream=True, text="Grüße", **KNOWN,
    ),
    "cited": Example(
        reply=document(
            200,
            said(
                {"citationsContent": {
                    "content": [{"text": "Grü"}, {"text": "ße"}],
                    "citations": [{"title": "t", "sourceContent": [{"text": "not said"}]}],
                }},
            ),
            **HEADERS,
        ),
        text="Grüße", **KNOWN,
    ),
    "kept_for_an_hour": Example(
        reply=document(
            200,
            said({"text": "Hi"}, usage={**USED, "cacheDetails": [
                {"ttl": "5m", "inputTokens": 80}, {"ttl": "1h", "inputTokens": 120},
            ]}),
            **HEADERS,
        ),
        text="Hi", request_id=ID, recorded=RECORDED,
        usage=READ.model_copy(update={"cache_write_1h_tokens": 120}),
    ),
    "tool_call": Example(
        reply=document(
            200,
            said(
                {"text": "Let me look."},
                {"toolUse": {**USE, "input": orjson.loads(CALL.arguments)}},
                reason="tool_use",
            ),
            **HEADERS,
        ),
        text="Let me look.", finish_reason="tool_calls", tool_calls=(CALL,), **KNOWN,
    ),
    "tool_call_stream": Example(
        reply=frames(
            START,
            delta(0, text="Let me look."),
            event("contentBlockStart", contentBlockIndex=1, start={"toolUse": USE}),
            delta(1, toolUse={"input": ""}),
            delta(1, toolUse={"input": '{"q": "na'}),
            delta(1, toolUse={"input": 'ïve"}'}),
            event("contentBlockStop", contentBlockIndex=1),
            stop("tool_use"),
            METADATA,
        ),
        stream=True, text="Let me look.", finish_reason="tool_calls", tool_calls=(CALL,), **KNOWN,
    ),
    "cut_off": Example(
        reply=document(200, said({"text": "Once upon"}, reason="max_tokens"), **HEADERS),
        text="Once upon", finish_reason="length", **KNOWN,
    ),
    "blocked": Example(
        reply=document(
            200, said({"text": GUARDED}, reason="guardrail_intervened"), **HEADERS
        ),
        text=GUARDED, finish_reason="content_filter", **KNOWN,
    ),
    "blocked_stream": Example(
        reply=frames(START, stop("content_filtered"), METADATA),
        stream=True, finish_reason="content_filter", **KNOWN,
    ),
    "routed": Example(
        reply=document(
            200,
            said(
                {"text": "Hi"},
                trace={"promptRouter": {"invokedModelId": "arn:aws:bedrock:x::m/claude"}},
            ),
            **HEADERS,
        ),
        text="Hi", model="arn:aws:bedrock:x::m/claude", **KNOWN,
    ),
    "rate_limited": Example(
        reply=error(429, "ThrottlingException", "Too many requests, please wait"),
        kind="rate_limited", disposition="deferred", says="Too many requests",
        recorded={**RECORDED, "x-amzn-errortype": "ThrottlingException:http://internal.amazon.com/"},
    ),
    "overloaded": Example(
        reply=error(503, "ServiceUnavailableException", "Bedrock is unable to process"),
        kind="server_error", says="unable to process",
    ),
    "server_error": Example(
        reply=error(500, "InternalServerException", "The system encountered an unexpected error"),
        kind="server_error", says="unexpected error",
    ),
    "model_error": Example(
        reply=error(424, "ModelErrorException", "The model returned an error"),
        kind="server_error", says="The model returned an error",
    ),
    "context_length": Example(
        reply=error(400, "ValidationException", "Input is too long for requested model."),
        kind="bad_request", disposition="final", says="Input is too long",
    ),
    "wrong_key": Example(
        reply=error(403, "AccessDeniedException", "Authentication failed: invalid API Key"),
        kind="authentication", disposition="halting", says="Authentication failed",
    ),
    "no_such_model": Example(
        reply=error(404, "ResourceNotFoundException", "Could not resolve the foundation model"),
        kind="not_found", disposition="halting", says="Could not resolve",
    ),
    "empty": Example(reply=document(200, said()), usage=READ),
    "error_in_stream": Example(
        reply=frames(
            START,
            delta(0, text="half"),
            aws_frame(
                {"message": "Too many tokens"},
                exception_type="throttlingException", message_type="exception",
            ),
        ),
        stream=True, kind="rate_limited", disposition="deferred", says="Too many tokens",
    ),
    "damaged": Example(
        reply=frames(START, bytes([*delta(0, text="half")[:-9], *b"x" * 9])),
        stream=True, kind="malformed_response", says="checksum",
    ),
}  # fmt: skip

PATH = "/model/us.anthropic.claude-sonnet-4-20250514-v1:0"
SPEAKS = Speaks(
    provider="bedrock",
    reference="https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html",
    entry={"model": MODEL, "options": {"region": "us-east-1"}},
    asked_at=f"{PATH}/converse",
    streamed_at=f"{PATH}/converse-stream",
    costs=30 * 2 + 1000 * 0.2 + 200 * 2.5 + 628 * 10,
    examples=EXAMPLES,
    ends={
        "end_turn": "stop",
        "stop_sequence": "stop",
        "max_tokens": "length",
        "model_context_window_exceeded": "length",
        "tool_use": "tool_calls",
        "guardrail_intervened": "content_filter",
        "content_filtered": "content_filter",
        "malformed_model_output": "malformed_model_output",
        "malformed_tool_use": "malformed_tool_use",
    },
    ended=lambda reason: document(200, said({"text": "Fir"}, reason=reason)),
    noise=aws_frame({"future": {}}, more=ODD_HEADERS, event_type="future", message_type="event"),
    unable={"refused": "a model refuses in its text"},
    wire=BedrockWire,
    lists_models=False,
    without=(Fault.WRONG_MODEL,),
)
