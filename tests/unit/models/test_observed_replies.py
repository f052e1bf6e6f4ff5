"""Forms of replies that vendors and gateways send, and that no reference of an API shows."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import orjson

from failproof_es.events import Usage
from failproof_es.models.http_reply import HttpReply, InvalidReply
from failproof_es.models.http_type import HttpProviderType
from failproof_es.models.protocol import Answer
from failproof_es.models.provider_type import provider_type
from tests.every import every

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


def read(provider: str, body: Any, status: int = 200, **headers: str) -> Answer:
    """Read a reply as a run does. `body`: a document, or the data of a stream's events."""
    kind = provider_type(provider)
    assert isinstance(kind, HttpProviderType)
    content_type = "text/event-stream" if isinstance(body, list) else "application/json"
    data = b"".join(map(event, body)) if isinstance(body, list) else orjson.dumps(body)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return reread(kind, HttpReply(status, {"content-type": content_type, **named}, data, 1.0, NOW))


def reread(kind: HttpProviderType, reply: HttpReply) -> Answer:
    reader = kind.implementation()
    stream = reader.stream_of(reply.headers) if reply.status == 200 else None
    try:
        if stream is not None:
            stream.feed(reply.body)
    except InvalidReply as flaw:
        raise reply.error(flaw) from None
    return reader.read(reply, stream)


def event(data: Any) -> bytes:
    return b"data: %b\n\n" % (data if isinstance(data, bytes) else orjson.dumps(data))


# -- tokens ----------------------------------------------------------------------------------


def completion(usage: Any = None, **message: Any) -> dict[str, Any]:
    choice = {"index": 0, "message": {"content": "hi", **message}, "finish_reason": "stop"}
    return {"model": "m", "choices": [choice], "usage": usage}


def chunk(reason: str | None = None, content: str | None = None, **more: Any) -> dict[str, Any]:
    delta = {} if content is None else {"content": content}
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return {"model": "m", "choices": [{**choice, **more.pop("choice", {})}], **more}


COUNTS = {"prompt_tokens": 32, "completion_tokens": 9, "total_tokens": 41}
COUNTED = Usage(input_tokens=32, output_tokens=9)


@every(
    ("usage", "expected"),
    [
        # xAI counts thoughts in the total only; so does Gemini's compatible API, without details.
        (
            {
                **COUNTS,
                "total_tokens": 135,
                "completion_tokens_details": {"reasoning_tokens": 94},
            },
            Usage(input_tokens=32, output_tokens=103, reasoning_tokens=94),
        ),
        ({**COUNTS, "total_tokens": 135}, Usage(input_tokens=32, output_tokens=103)),
        # Perplexity counts them beside the total.
        (
            {**COUNTS, "citation_tokens": 7_299, "reasoning_tokens": 73_248},
            Usage(input_tokens=32, output_tokens=73_257, reasoning_tokens=73_248),
        ),
        ({**COUNTS, "reasoning_tokens": 4}, COUNTED.model_copy(update={"reasoning_tokens": 4})),
        ({**COUNTS, "cached_tokens": 30}, COUNTED.model_copy(update={"cached_input_tokens": 30})),
        (
            {**COUNTS, "num_cached_tokens": 30},
            COUNTED.model_copy(update={"cached_input_tokens": 30}),
        ),
        (
            {**COUNTS, "prompt_cache_hit_tokens": 0},
            COUNTED.model_copy(update={"cached_input_tokens": 0}),
        ),
        ({**COUNTS, "total_tokens": 0}, COUNTED),
        ({**COUNTS, "total_tokens": "135"}, COUNTED),
        ({"completion_tokens": 9, "total_tokens": 135}, Usage(output_tokens=9)),
        (
            {**COUNTS, "citation_tokens": 1, "reasoning_tokens": 10**9},
            Usage(input_tokens=32),
        ),
    ],
)
def test_tokens_that_a_vendor_counts_elsewhere_are_counted(usage: Any, expected: Usage) -> None:
    assert read("openai", completion(usage)).usage == expected


@every(
    "end",
    [chunk("stop", choice={"usage": COUNTS}), chunk("stop", x_groq={"id": "r", "usage": COUNTS})],
)
def test_a_stream_may_hold_its_counts_elsewhere(end: dict[str, Any]) -> None:
    assert read("openai", [chunk(content="hi"), end, b"[DONE]"]).usage == COUNTED
