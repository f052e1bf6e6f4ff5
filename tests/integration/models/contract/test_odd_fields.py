"""Whatever a server writes in place of a field: it is an answer or an error, and never a crash."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import orjson
import pytest

from failproof_es.models import Answer, ModelError
from failproof_es.models.http import HttpProvider
from failproof_es.models.http_reply import HttpReply, InvalidReply
from failproof_es.models.providers.bedrock.frames import FrameStream
from tests.integration.models.contract.speaking.all import SPOKEN
from tests.integration.models.contract.speaking.example import Example
from tests.integration.models.contract.test_wire import implementation
from tests.integration.models.contract.wires import aws_frame

ODD: tuple[Any, ...] = (None, True, -7, 1.5, "", "odd", [], [[]], {}, {"odd": []})
_AT_ALL = 400
"""So many documents are made of one example at most."""


def places(document: Any) -> Iterator[tuple[Any, ...]]:
    """The way to every value in the document."""
    pairs: Iterator[tuple[Any, Any]] = iter(())
    if isinstance(document, dict):
        pairs = iter(document.items())
    elif isinstance(document, list):
        pairs = iter(enumerate(document))
    for key, value in pairs:
        yield (key,)
        for rest in places(value):
            yield (key, *rest)


def with_odd(document: Any, place: tuple[Any, ...], odd: Any) -> Any:
    """The document with this value there."""
    altered = orjson.loads(orjson.dumps(document))
    inside = altered
    for key in place[:-1]:
        inside = inside[key]
    inside[place[-1]] = odd
    return altered


def documents(example: Example) -> list[bytes]:
    """The events of a stream, or the one document, in the bytes between which others stand."""
    body, kind = example.reply.body, example.reply.content_type
    if kind.startswith("text/event-stream"):
        return [each.removeprefix(b"data: ") for each in body.split(b"\n") if b"data: {" in each]
    if kind.startswith("application/x-ndjson"):
        return body.splitlines()
    return [body]


def altered_bodies(example: Example) -> Iterator[bytes]:
    body = example.reply.body
    made = [
        body.replace(said, orjson.dumps(with_odd(document, place, odd)), 1)
        for said in dict.fromkeys(documents(example))
        if isinstance(document := loaded(said), dict)
        for place in places(document)
        for odd in ODD
    ]
    yield from made[:: max(1, len(made) // _AT_ALL)]


def altered_frames(example: Example) -> Iterator[bytes]:
    frames = list(FrameStream().feed(example.reply.body))
    written = [rewritten(frame.headers, orjson.loads(frame.payload)) for frame in frames]
    made = [
        b"".join(
            [
                *written[:at],
                rewritten(frame.headers, with_odd(said, place, odd)),
                *written[at + 1 :],
            ]
        )
        for at, frame in enumerate(frames)
        if isinstance(said := orjson.loads(frame.payload), dict)
        for place in places(said)
        for odd in ODD
    ]
    yield from made[:: max(1, len(made) // _AT_ALL)]


def rewritten(headers: Any, payload: Any) -> bytes:
    names = {name.removeprefix(":").replace("-", "_"): value for name, value in headers.items()}
    names.pop("content_type", None)
    return aws_frame(payload, **names)


def loaded(said: bytes) -> Any:
    try:
        return orjson.loads(said)
    except orjson.JSONDecodeError:
        return None


def read(kind: type[HttpProvider], example: Example, body: bytes) -> Answer | None:
    """The answer; `None` for an error that says what is wrong. Anything else is a crash."""
    headers = {"content-type": example.reply.content_type}
    reply = HttpReply(example.reply.status, headers, body, 1.0, datetime.now(UTC))
    try:
        stream = kind.stream_of(headers) if reply.status == 200 else None
        if stream is not None:
            stream.feed(body)
        return kind.read(reply, stream)
    except ModelError as error:
        assert error.body == body
    except InvalidReply as flaw:
        assert reply.error(flaw).message
    return None


@pytest.mark.parametrize("speaks", [pytest.param(each, id=each.provider) for each in SPOKEN])
def test_a_field_of_another_type_is_no_crash(speaks: Any) -> None:
    kind, taken = implementation(speaks), 0
    for name, example in speaks.examples.items():
        if name == "damaged":
            continue
        in_frames = example.reply.content_type.startswith("application/vnd.amazon")
        for body in (altered_frames if in_frames else altered_bodies)(example):
            answer = read(kind, example, body)
            if answer is None:
                continue
            taken += 1
            assert isinstance(answer.text, str)
            for said in (answer.refusal, answer.finish_reason, answer.model):
                assert said is None or isinstance(said, str)
            used = answer.usage
            parts = (used.cached_input_tokens or 0) + (used.cache_write_tokens or 0)
            assert used.input_tokens is None or parts <= used.input_tokens
            assert (used.reasoning_tokens or 0) <= (used.output_tokens or 0)
    assert taken > 100, "most fields say nothing that is read"
