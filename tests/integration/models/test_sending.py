"""One request on the wire: cut replies, closed connections, odd headers, and what is timed."""

from __future__ import annotations

import asyncio
import socket
import sys
import threading
import time
from collections.abc import Coroutine, Iterator, Mapping
from typing import Any, TypeVar

import pytest

from failproof_es.configuration.schema import Model
from failproof_es.core.case import Turn
from failproof_es.models import Answer, ModelError
from failproof_es.models.http import OutgoingRequest
from failproof_es.models.protocol import Provider
from failproof_es.models.providers.openai.provider import OpenAIProvider
from failproof_es.support.event_loop import loop_factory
from failproof_es.web.connection import Connection
from tests.every import every
from tests.machine import slowness
from tests.servers.scripted_server import Server, once, serving

T = TypeVar("T")

COMPLETION = b'{"choices": [{"message": {"content": "hello"}}]}'
EDGE = 2**16
"""A reply is read in pieces of so many bytes."""
ASKED = [Turn(role="user", content="hello")]
WHOLE = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(COMPLETION) + COMPLETION


def a_provider(url: str, kind: type[OpenAIProvider] = OpenAIProvider) -> OpenAIProvider:
    model = Model(provider="openai", model="mock", base_url=url)
    return kind(model, url, timeout_ms=20_000, connections=1)


_FACTORIES = {"asyncio": asyncio.new_event_loop, "what commands run in": loop_factory()}
_used: list[str] = []


@pytest.fixture(autouse=True, params=_FACTORIES)
def loop_in_use(request: pytest.FixtureRequest) -> Iterator[None]:
    """Each test runs in both event loops."""
    _used.append(request.param)
    yield
    _used.pop()


def in_loop(work: Coroutine[Any, Any, T]) -> T:
    with asyncio.Runner(loop_factory=_FACTORIES[_used[-1]]) as runner:
        return runner.run(work)


async def send(provider: Provider) -> Answer:
    return await provider.send(provider.prepare(ASKED))


def sent_once(url: str, kind: type[OpenAIProvider] = OpenAIProvider) -> Answer:
    async def main() -> Answer:
        provider = a_provider(url, kind)
        try:
            return await send(provider)
        finally:
            await provider.close()

    return in_loop(main())


# -- cut replies ---------------------------------------------------------------------------


def padded(length: int) -> bytes:
    """A completion that is one from its first bytes on: cut anywhere behind them it parses."""
    return COMPLETION + b" " * (length - len(COMPLETION))


@every("cut", [1, len(COMPLETION), EDGE - 1, EDGE, EDGE + 1, 2 * EDGE - 1, 2 * EDGE, 3 * EDGE - 1])
def test_a_reply_that_is_cut_at_the_edge_of_a_buffer_is_never_an_answer(cut: int) -> None:
    head = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % (3 * EDGE)
    body = padded(3 * EDGE)
    with serving(once(head + body[:cut])) as server, pytest.raises(ModelError) as caught:
        sent_once(server.url)
    error = caught.value
    assert (error.kind, error.disposition, error.status) == ("connection", "transient", 200)
    assert error.body == body[:cut]
    assert error.latency_ms is not None
    assert len(server.requests) == 1


@every("length", [1, 7, EDGE - 1, EDGE, EDGE + 1])
@every("chunks", [1, 2, 3])
def test_a_reply_that_is_cut_between_two_chunks_is_never_an_answer(
    length: int, chunks: int
) -> None:
    first = COMPLETION + b" "
    framed = [b"%x\r\n%b\r\n" % (len(each), each) for each in [first, *[b" " * length] * chunks]]
    head = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
    whole = b"".join(framed)
    with serving(once(head, whole)) as server, pytest.raises(ModelError) as caught:
        sent_once(server.url)
    assert caught.value.kind == "connection"
    assert caught.value.body == first + b" " * length * chunks
    with serving(once(head, whole + b"0\r\n\r\n")) as server:
        assert sent_once(server.url).body == first + b" " * length * chunks


@every("cut", [1, 2, 3, 4])
def test_a_reply_that_is_cut_within_its_last_chunk_is_never_an_answer(cut: int) -> None:
    head = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
    framed = b"%x\r\n%b\r\n" % (len(COMPLETION), COMPLETION)
    with (
        serving(once(head + framed, b"0\r\n\r\n"[:cut])) as server,
        pytest.raises(ModelError) as caught,
    ):
        sent_once(server.url)
    assert (caught.value.kind, caught.value.body) == ("connection", COMPLETION)


@every("length", [EDGE - 1, EDGE, EDGE + 1, 3 * EDGE, 2**18 + 1])
def test_a_reply_of_any_length_is_recorded_to_its_last_byte(length: int) -> None:
    body = padded(length)
    head = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % length
    with serving(once(head + body)) as server:
        assert sent_once(server.url).body == body


# -- connections ---------------------------------------------------------------------------


def test_a_connection_that_was_closed_between_two_requests_is_not_used_again() -> None:
    with serving(once(WHOLE)) as server:

        async def main() -> None:
            provider = a_provider(server.url)
            try:
                await send(provider)
                await asyncio.sleep(0.2)  # its end has come
                await send(provider)
            finally:
                await provider.close()

        in_loop(main())
        assert (len(server.requests), server.connections) == (2, 2)


def test_a_request_on_a_connection_that_ends_is_lost_and_told_and_never_sent_twice() -> None:
    def script(server: Server, connection: socket.socket) -> None:
        server.read(connection)
        connection.sendall(WHOLE)
        server.read(connection)  # and closes it without an answer

    with serving(script) as server:

        async def main() -> None:
            provider = a_provider(server.url)
            try:
                await send(provider)
                with pytest.raises(ModelError) as caught:
                    await send(provider)
                assert (caught.value.kind, caught.value.disposition) == ("connection", "transient")
                assert len(server.requests) == 2
                await send(provider)
            finally:
                await provider.close()

        in_loop(main())
        assert (len(server.requests), server.connections) == (3, 2)


def test_a_connection_is_used_again_and_closed_behind_a_reply_that_was_given_up() -> None:
    release = threading.Event()

    def script(server: Server, connection: socket.socket) -> None:
        while server.read(connection):
            if len(server.requests) == 3:
                connection.sendall(WHOLE[:-1])
                release.wait(10)
            connection.sendall(WHOLE)

    with serving(script) as server:

        async def main() -> None:
            provider = a_provider(server.url)
            try:
                await send(provider)
                await send(provider)
                assert server.connections == 1
                given_up = asyncio.create_task(send(provider))
                await asyncio.to_thread(server.wait_for, 3)
                await asyncio.sleep(0.1)
                given_up.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await given_up
                await send(provider)
                assert server.connections == 2
            finally:
                release.set()
                await provider.close()

        in_loop(main())


def test_a_large_request_arrives_to_its_last_byte() -> None:
    content = "x" * (3 * 2**18 + 1)
    with serving(once(WHOLE)) as server:

        async def main() -> None:
            provider = a_provider(server.url)
            request = provider.prepare([Turn(role="user", content=content)])
            try:
                await provider.send(request)
            finally:
                await provider.close()
            [came] = server.requests
            assert came.partition(b"\r\n\r\n")[2] == request.body

        in_loop(main())


# -- headers -------------------------------------------------------------------------------


class Injecting(OpenAIProvider):
    """Its proof of who asks would be two headers."""

    proof = "Bearer secret-key\r\nx-more: yes"

    def sign(self, request: OutgoingRequest, key: str | None) -> Mapping[str, str]:
        return {"authorization": self.proof}


class InjectingName(Injecting):
    def sign(self, request: OutgoingRequest, key: str | None) -> Mapping[str, str]:
        return {"x-a: b\r\nx-more": "yes"}


class NotAscii(Injecting):
    proof = "Bearer secret-key-é"


@every("kind", [Injecting, InjectingName, NotAscii])
def test_a_header_that_would_be_two_or_none_is_never_sent(kind: type[OpenAIProvider]) -> None:
    with serving(once(WHOLE)) as server:
        with pytest.raises((ModelError, ValueError)) as caught:
            sent_once(server.url, kind)
        assert server.requests == []
        assert "secret-key" not in str(caught.value)


def test_a_request_says_what_it_always_said() -> None:
    with serving(once(WHOLE)) as server:
        sent_once(server.url)
        head, _, _ = server.requests[0].lower().partition(b"\r\n\r\n")
        line, *headers = head.split(b"\r\n")
        named = [each.partition(b": ")[0] for each in headers]
        assert line == b"post /v1/chat/completions http/1.1"
        assert sorted(named) == [
            b"accept", b"accept-encoding", b"connection", b"content-length", b"content-type",
            b"host", b"user-agent",
        ]  # fmt: skip


def test_a_redirect_is_not_followed() -> None:
    with serving(once(WHOLE)) as other:
        moved = f"HTTP/1.1 307 Moved\r\nlocation: {other.url}/x\r\ncontent-length: 0\r\n\r\n"
        with serving(once(moved.encode())) as server, pytest.raises(ModelError) as caught:
            sent_once(server.url)
        assert (caught.value.kind, caught.value.status) == ("unexpected_status", 307)
        assert other.requests == []


# -- what is timed -------------------------------------------------------------------------


def test_waiting_for_a_connection_is_not_the_servers_latency() -> None:
    def script(server: Server, connection: socket.socket) -> None:
        while server.read(connection):
            time.sleep(0.2)
            connection.sendall(WHOLE)

    with serving(script) as server:

        async def main() -> list[Answer]:
            provider = a_provider(server.url)  # one connection
            try:
                return await asyncio.gather(*(send(provider) for _ in range(4)))
            finally:
                await provider.close()

        slow = slowness()
        waited = [answer.latency_ms for answer in in_loop(main())]
        assert min(waited) >= 199
        assert max(waited) < 200 + 150 * max(slow, slowness())


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says when data came")
def test_what_this_process_did_meanwhile_is_not_the_servers_latency() -> None:
    release = threading.Event()

    def script(server: Server, connection: socket.socket) -> None:
        server.read(connection)
        release.wait(10)
        connection.sendall(WHOLE)

    with serving(script) as server:

        async def main() -> Answer:
            provider = a_provider(server.url)
            try:
                sending = asyncio.create_task(send(provider))
                await asyncio.to_thread(server.wait_for, 1)
                release.set()
                time.sleep(1)  # noqa: ASYNC251  # nobody in this event loop gets on
                return await sending
            finally:
                await provider.close()

        assert 0 <= in_loop(main()).latency_ms < 500


def test_a_reply_never_arrives_before_its_request_was_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A kernel whose clock jumped tells of data that waited longer than the request is old."""
    monkeypatch.setattr(Connection, "_waited_s", lambda self: 3600.0)

    def script(server: Server, connection: socket.socket) -> None:
        server.read(connection)
        connection.sendall(WHOLE)

    with serving(script) as server:
        assert sent_once(server.url).latency_ms == 0


def test_an_attempt_that_sent_nothing_has_no_latency() -> None:
    with socket.socket() as nobody_listens, pytest.raises(ModelError) as caught:
        nobody_listens.bind(("127.0.0.1", 0))
        sent_once(f"http://127.0.0.1:{nobody_listens.getsockname()[1]}/v1")
    assert (caught.value.kind, caught.value.latency_ms) == ("connection", None)
