"""Streamed answers over real HTTP: read as they come, and never half of one taken for a whole."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest

from failproof_es.configuration.schema import Model
from failproof_es.core.case import Turn
from failproof_es.models import Answer, ModelError, create_provider
from failproof_es.models.providers.local.weights import SMOLLM2
from tests.every import every
from tests.servers.stream_server import (
    DONE,
    END,
    HEAD,
    LAST,
    SPOKEN,
    USAGE,
    StreamServer,
    at_once,
    chunk,
    event,
    framed,
)

Script = Callable[[], AsyncIterator[bytes | None]]
ASKED = [Turn(role="user", content="hello")]


def whole(body: bytes) -> Script:
    return at_once(HEAD + framed(body) + LAST)


def stream(script: Script, *, timeout_ms: int = 5_000) -> tuple[Answer, list[str], StreamServer]:
    heard: list[str] = []

    async def main() -> tuple[Answer, list[str], StreamServer]:
        async with StreamServer(script) as server:
            model = Model(provider="openai", model="mock", base_url=server.url, stream=True)
            provider = create_provider(model, timeout_ms=timeout_ms, connections=1)
            try:
                return await provider.send(provider.prepare(ASKED), heard.append), heard, server
            except ModelError as error:
                error.add_note("".join(heard))
                raise
            finally:
                await provider.close()

    return asyncio.run(main())


def test_a_stream_is_asked_for_heard_as_it_comes_and_recorded_byte_for_byte() -> None:
    body = SPOKEN + END + USAGE + DONE
    answer, heard, server = stream(whole(b": keep-alive\n\n" + body))
    assert answer.text == "".join(heard) == "Hello, wörld"
    assert answer.body == b": keep-alive\n\n" + body
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (3, 2)
    assert answer.first_token_ms is not None and answer.first_token_ms <= answer.latency_ms
    assert (answer.finish_reason, answer.model) == ("stop", "mock")
    [asked] = server.requests
    assert asked["stream"] is True and asked["stream_options"] == {"include_usage": True}


def test_the_first_token_is_timed_when_it_comes_not_when_the_stream_ends() -> None:
    async def slow() -> AsyncIterator[bytes | None]:
        yield HEAD + framed(chunk("first"))
        await asyncio.sleep(0.3)
        yield framed(chunk(" last") + END + DONE) + LAST

    answer, heard, _ = stream(slow)
    assert heard == ["first", " last"]
    assert answer.first_token_ms is not None
    assert answer.first_token_ms + 250 < answer.latency_ms


@every(
    ("body", "text"),
    [
        (SPOKEN + END + DONE, "Hello, wörld"),  # no usage
        (SPOKEN + END, "Hello, wörld"),  # a finish reason says that it is whole
        (SPOKEN + DONE, "Hello, wörld"),  # so does [DONE]
        (SPOKEN.replace(b"\n\n", b"\r\n\r\n") + END + DONE, "Hello, wörld"),
        (chunk("") + END + DONE, ""),
        (END + DONE, ""),
        (
            event({"choices": [{"index": 1, "delta": {"content": "b"}}]}) + SPOKEN + END,
            "Hello, wörld",
        ),
    ],
)
def test_what_servers_leave_out_is_not_missed(body: bytes, text: str) -> None:
    answer, _, _ = stream(whole(body))
    assert answer.text == text and answer.usage.input_tokens is None


BROKEN: dict[str, tuple[Script, str, str]] = {
    "ends after some text": (whole(SPOKEN), "stream_broken", "transient"),
    "ends inside an event": (whole(SPOKEN + chunk("cut")[:20]), "stream_broken", "transient"),
    "is empty": (whole(b""), "stream_broken", "transient"),
    "holds only keep-alives": (whole(b": ping\n\n" * 3), "stream_broken", "transient"),
    "is done before it began": (whole(DONE), "empty_choices", "transient"),
    "is cut in the middle of an HTTP chunk": (
        at_once(HEAD + framed(SPOKEN), b"40\r\ndata: {"),
        "connection",
        "transient",
    ),
    "never says that it is the last HTTP chunk": (
        at_once(HEAD + framed(SPOKEN)),
        "connection",
        "transient",
    ),
    "frames its chunks wrongly": (
        at_once(HEAD + framed(SPOKEN) + b"not-a-size\r\n"),
        "connection",
        "transient",
    ),
    "holds an error object": (
        whole(SPOKEN + event({"error": {"message": "it broke", "code": 400}})),
        "provider_error",
        "final",
    ),
    "holds an overload": (
        whole(SPOKEN + event({"error": {"message": "overloaded_error"}})),
        "provider_error",
        "transient",
    ),
    "holds an event that is not JSON": (
        whole(SPOKEN + b"data: {oops}\n\n" + END),
        "malformed_response",
        "transient",
    ),
    "holds bytes that are not UTF-8": (
        whole(SPOKEN + b"data: \xff\xfe\n\n" + END),
        "malformed_response",
        "transient",
    ),
    "changes the model midway": (
        whole(SPOKEN + chunk("x", model="other") + END),
        "malformed_response",
        "transient",
    ),
    "goes on after its end": (
        whole(SPOKEN + END + chunk("more") + DONE),
        "malformed_response",
        "transient",
    ),
    "goes on after [DONE]": (
        whole(SPOKEN + END + DONE + chunk("more")),
        "malformed_response",
        "transient",
    ),
    "speaks in numbers": (
        whole(event({"choices": [{"index": 0, "delta": {"content": 5}}]}) + END),
        "malformed_response",
        "transient",
    ),
    "is a page and no stream": (
        at_once(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5\r\n\r\n<html"),
        "malformed_response",
        "transient",
    ),
    "was refused before it began": (
        at_once(b"HTTP/1.1 429 Slow\r\nRetry-After: 2\r\nContent-Length: 0\r\n\r\n"),
        "rate_limited",
        "deferred",
    ),
}


@every("how", BROKEN)
def test_a_stream_that_is_broken_is_an_error_that_keeps_what_came(how: str) -> None:
    script, kind, disposition = BROKEN[how]
    with pytest.raises(ModelError) as caught:
        stream(script)
    error = caught.value
    assert (error.kind, error.disposition) == (kind, disposition)
    [heard] = error.__notes__
    if heard:
        assert b"Hello" in (error.body or b""), "text was heard and its bytes were not kept"


def test_a_stream_that_stalls_times_out_with_its_partial_text_kept() -> None:
    async def stalls() -> AsyncIterator[bytes | None]:
        yield HEAD + framed(SPOKEN)
        yield None

    with pytest.raises(ModelError) as caught:
        stream(stalls, timeout_ms=1_500)
    assert caught.value.kind == "timeout"
    assert caught.value.body == SPOKEN


def test_an_answer_in_one_piece_is_an_answer_although_a_stream_was_asked_for() -> None:
    body = b'{"model": "mock", "choices": [{"message": {"content": "whole"}}]}'
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    answer, heard, _ = stream(at_once(head % len(body) + body))
    assert answer.text == "whole" and not heard and answer.first_token_ms is None


@every("content_type", [b"application/json", b"text/plain; charset=utf-8"])
def test_a_stream_that_its_server_calls_something_else_is_read(content_type: bytes) -> None:
    body = SPOKEN + END + USAGE + DONE
    head = HEAD.replace(b"text/event-stream", content_type)
    answer, _, server = stream(at_once(head + framed(body) + LAST))
    assert (answer.text, answer.body) == ("Hello, wörld", body)
    assert len(server.requests) == 1 and head != HEAD


def test_a_document_that_its_server_calls_a_stream_is_read() -> None:
    answer, _, _ = stream(whole(b'{"model": "mock", "choices": [{"message": {"content": "a"}}]}'))
    assert answer.text == "a"


@pytest.mark.slow
def test_the_embedded_model_streams_what_it_says_without_streaming() -> None:
    async def ask(streamed: bool) -> tuple[Answer, list[str]]:
        heard: list[str] = []
        model = Model(provider="local", model=SMOLLM2.name, max_tokens=8, stream=streamed)
        provider = create_provider(model, timeout_ms=60_000, connections=1)
        await provider.open()
        try:
            return await provider.send(provider.prepare(ASKED), heard.append), heard
        finally:
            await provider.close()

    streamed, heard = asyncio.run(ask(streamed=True))
    at_once_answer, silent = asyncio.run(ask(streamed=False))
    assert streamed.text == "".join(heard) == at_once_answer.text
    assert heard and not silent  # a busy machine reads all of it at once
    assert streamed.usage == at_once_answer.usage
