"""Every protocol by every finish reason by every spelling of content: meaning comes before shape.

What comes of a reply must follow from what its finish reason means and from what was said, and not
from the protocol, nor from how a server writes that nothing was said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from itertools import product
from typing import Any, NamedTuple

import orjson
import pytest

from failproof_es.core.evaluation import Reply, unusable_reply
from failproof_es.core.finish_reasons import meaning_of, was_interrupted
from failproof_es.models import Answer, ModelError, provider_type
from failproof_es.models.http_reply import HttpReply, InvalidReply
from failproof_es.models.http_type import HttpProviderType
from tests.integration.models.contract.wires import aws_frame

SAID = "Oslo"
REASONS = (
    *("stop", "end_turn", "eos_token", "STOP"),
    *("length", "max_tokens", "MAX_TOKENS", "model_context_window_exceeded", "pause_turn"),
    *("content_filter", "SAFETY", "PROHIBITED_CONTENT", "recitation", "sensitive", "refusal"),
    *("guardrail_intervened", "content_filtered"),
    *("network_error", "abort", "insufficient_system_resource", "error"),
    *("malformed_model_output", "MALFORMED_FUNCTION_CALL"),
    *("brand_new", "OTHER", "tool_calls"),
)
Shape = dict[str, Any] | None
"""The message, as its protocol writes it; `None` for `null`."""


class Protocol(NamedTuple):
    """How the servers of a protocol write a reply."""

    provider: str
    text: Callable[[str], dict[str, Any]]
    """A message that says something."""
    nothing: tuple[Shape, ...]
    """Spellings of a message that says nothing."""
    whole: Callable[[Shape, str], bytes]
    streamed: Callable[[str, str], tuple[str, bytes]] | None
    """The content type and the body of a stream of this text (none where it is empty)."""


def sse(*events: dict[str, Any]) -> tuple[str, bytes]:
    written = b"".join(b"data: " + orjson.dumps(event) + b"\n\n" for event in events)
    return "text/event-stream", written


def chat_stream(text: str, reason: str) -> tuple[str, bytes]:
    delta = {"content": text} if text else {}
    return sse(
        {"choices": [{"index": 0, "delta": delta}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]},
    )


def anthropic_stream(text: str, reason: str) -> tuple[str, bytes]:
    block = {"type": "text", "text": text}
    return sse(
        {"type": "message_start", "message": {"model": "m", "content": []}},
        *([{"type": "content_block_start", "index": 0, "content_block": block}] if text else []),
        {"type": "message_delta", "delta": {"stop_reason": reason}},
        {"type": "message_stop"},
    )


def bedrock_stream(text: str, reason: str) -> tuple[str, bytes]:
    def event(kind: str, payload: Any) -> bytes:
        return aws_frame(payload, event_type=kind, message_type="event")

    delta = event("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": text}})
    body = (delta if text else b"") + event("messageStop", {"stopReason": reason})
    return "application/vnd.amazon.eventstream", body


def gemini_stream(text: str, reason: str) -> tuple[str, bytes]:
    said = {"content": {"parts": [{"text": text}]}} if text else {}
    return sse({"candidates": [said]}, {"candidates": [{"finishReason": reason}]})


def ollama_stream(text: str, reason: str) -> tuple[str, bytes]:
    lines = [{"message": {"content": text}}] if text else []
    last = {"done": True, "done_reason": reason}
    return "application/x-ndjson", b"".join(orjson.dumps(each) + b"\n" for each in [*lines, last])


def chat(message: Shape, reason: str) -> bytes:
    return orjson.dumps({"choices": [{"message": message, "finish_reason": reason}]})


CHAT_NOTHING: tuple[Shape, ...] = (
    {"content": ""},
    {"content": None},
    {},
    None,
    {"content": []},
    {"content": None, "reasoning_content": "Hm."},
    {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}]},
)
PROTOCOLS = [
    *(
        Protocol(name, lambda text: {"content": text}, CHAT_NOTHING, chat, chat_stream)
        for name in ("openai", "azure", "openrouter", "mistral")
    ),
    Protocol(
        "anthropic",
        lambda text: {"content": [{"type": "text", "text": text}]},
        (
            {"content": []},
            {"content": None},
            {},
            {"content": [{"type": "text", "text": ""}]},
            {"content": [{"type": "thinking", "thinking": "Hm."}]},
        ),
        lambda message, reason: orjson.dumps({**(message or {}), "stop_reason": reason}),
        anthropic_stream,
    ),
    Protocol(
        "bedrock",
        lambda text: {"content": [{"text": text}]},
        (
            {"content": []},
            {"content": None},
            {},
            None,
            {"content": [{"reasoningContent": {"reasoningText": {"text": "Hm."}}}]},
        ),
        lambda message, reason: orjson.dumps(
            {"output": {"message": message}, "stopReason": reason}
        ),
        bedrock_stream,
    ),
    *(
        Protocol(
            name,
            lambda text: {"content": {"parts": [{"text": text}]}},
            (
                {"content": {"parts": [{"text": ""}]}},
                {"content": {"parts": []}},
                {"content": {"parts": None}},
                {"content": {}},
                {"content": None},
                {},
                {"content": {"parts": [{"text": "Hm.", "thought": True}]}},
            ),
            lambda message, reason: orjson.dumps(
                {"candidates": [{**(message or {}), "finishReason": reason}]}
            ),
            gemini_stream,
        )
        for name in ("gemini", "vertex")
    ),
    Protocol(
        "ollama",
        lambda text: {"content": text},
        ({"content": ""}, {"content": None}, {}, None, {"content": None, "thinking": "Hm."}),
        lambda message, reason: orjson.dumps(
            {"message": message, "done": True, "done_reason": reason}
        ),
        ollama_stream,
    ),
]


def read(provider: str, content_type: str, body: bytes) -> Answer | ModelError:
    kind = provider_type(provider)
    assert isinstance(kind, HttpProviderType)
    implementation = kind.implementation()
    headers = {"content-type": content_type}
    reply = HttpReply(200, headers, body, 1.0, datetime.now(UTC))
    try:
        stream = implementation.stream_of(headers)
        if stream is not None:
            stream.feed(body)
        return implementation.read(reply, stream)
    except ModelError as error:
        return error
    except InvalidReply as flaw:
        return reply.error(flaw)


def replies(protocol: Protocol, reason: str) -> Iterator[tuple[str, Answer | ModelError, Any]]:
    """What was said, what comes of it, and the shape, for errors of this test."""
    whole = "application/json"
    spoken = protocol.text(SAID)
    yield SAID, read(protocol.provider, whole, protocol.whole(spoken, reason)), spoken
    for shape in protocol.nothing:
        yield "", read(protocol.provider, whole, protocol.whole(shape, reason)), shape
    if protocol.streamed is not None:
        for text in (SAID, ""):
            yield text, read(protocol.provider, *protocol.streamed(text, reason)), "a stream"


@pytest.mark.parametrize(
    ("protocol", "reason"),
    [
        pytest.param(protocol, reason, id=f"{protocol.provider}-{reason}")
        for protocol, reason in product(PROTOCOLS, REASONS)
    ],
)
def test_what_comes_of_a_reply_follows_from_its_end_and_its_words(
    protocol: Protocol, reason: str
) -> None:
    meaning = meaning_of(reason)
    for text, came, shape in replies(protocol, reason):
        if was_interrupted(reason):
            assert isinstance(came, ModelError), shape
            assert (came.kind, came.disposition) == ("provider_error", "transient"), shape
            assert reason in came.message
        elif not text and meaning in ("tool_call", "broken"):
            assert isinstance(came, ModelError), shape
            assert (came.kind, came.disposition) == ("missing_content", "transient"), shape
        else:
            assert isinstance(came, Answer), (shape, came)
            assert came.text == text, shape
            assert came.finish_reason is not None
            assert meaning_of(came.finish_reason) == meaning, shape
            if meaning in ("unknown", "broken"):
                assert came.finish_reason == reason, "word for word"
            unusable = unusable_reply([Reply(0, came.text, came.finish_reason)])
            assert (unusable is not None) == (meaning in ("withheld", "broken", "unknown"))


@pytest.mark.parametrize("reason", [*REASONS, None])
def test_a_response_says_why_it_is_incomplete(reason: str | None) -> None:
    """The Responses API: a status, and a reason beside it."""
    details = {"incomplete_details": None if reason is None else {"reason": reason}}
    message = {"type": "message", "content": [{"type": "output_text", "text": SAID}]}
    for output in ([message], [], None, [{"type": "reasoning"}]):
        body = orjson.dumps({"status": "incomplete", "output": output, **details})
        came = read("openai-responses", "application/json", body)
        if was_interrupted(reason):
            assert isinstance(came, ModelError) and came.disposition == "transient"
            continue
        assert isinstance(came, Answer)
        assert came.text == (SAID if output == [message] else "")
        ended = meaning_of("incomplete" if reason is None else reason)
        assert meaning_of(came.finish_reason) == ended


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b'\xef\xbb\xbf{"choices":[{"message":{"content":"a"},"finish_reason":"stop"}]}', "a"),
        (
            b'{"choices":[{"index":1,"message":{"content":"b"}},'
            b'{"index":0,"message":{"content":"a"}}]}',
            "a",
        ),
        (b'{"choices":[{"message":{"content":"a"},"finish_reason":"null"}]}', "a"),
    ],
    ids=["a-byte-order-mark", "another-choice-first", "null-as-a-word"],
)
def test_what_servers_do_oddly_is_read(body: bytes, text: str) -> None:
    came = read("openai", "application/json", body)
    assert isinstance(came, Answer) and came.text == text
