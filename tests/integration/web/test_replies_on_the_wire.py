"""The client on connections of its own: whose reply is whose, where one ends, how long it is."""

from __future__ import annotations

import asyncio
import random
import socket
import threading
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

import httpx
import pytest

from failproof_es.support.event_loop import loop_factory
from failproof_es.web import connections
from failproof_es.web.client import LOST, Body, BodyTooLong, fetch_now, post, reason
from failproof_es.web.connection import MOST_HEAD_BYTES, MOST_INTERIM_REPLIES, InvalidHttp
from failproof_es.web.reply import PIECE_BYTES, RequestBody
from failproof_es.web.transport import Endpoint, Transport
from tests.every import every
from tests.integration.models.test_ways_to_a_server import authority
from tests.servers.scripted_server import Server, serving

T = TypeVar("T")
Script = Callable[[Server, socket.socket], None]

LIMIT = 2**20
FACTORIES = {"asyncio": asyncio.new_event_loop, "what commands run in": loop_factory()}
SEED = 20261129

FRAMED = {
    "a length": (b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nyes", b"yes", True),
    "no body at all": (b"HTTP/1.1 204 No Content\r\n\r\n", b"", True),
    "chunks": (
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\ny\r\n2\r\nes\r\n0\r\n\r\n",
        b"yes", True),
    "a chunk that is extended, and a trailer": (
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3;a=b\r\nyes\r\n0\r\nx: y\r\n\r\n",
        b"yes", True),
    "interim replies before it": (
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n"
        b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nyes", b"yes", True),
    "lines that end without CR": (b"HTTP/1.1 200 OK\ncontent-length: 3\n\nyes", b"yes", True),
    "the connection is to be closed": (
        b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 3\r\n\r\nyes", b"yes", False),
    "HTTP/1.0": (b"HTTP/1.0 200 OK\r\ncontent-length: 3\r\n\r\nyes", b"yes", False),
    "the end of the connection": (b"HTTP/1.1 200 OK\r\n\r\nyes", b"yes", False),
    "a coding without chunks": (
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: identity\r\n\r\nyes", b"yes", False),
    "another protocol": (
        b"HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\nyes", b"",
        False),
}  # fmt: skip
"""A reply, its body, and whether its connection can be used again."""


@pytest.fixture(params=FACTORIES)
def in_loop(request: pytest.FixtureRequest) -> Callable[[Coroutine[Any, Any, T]], T]:
    """Runs a coroutine in each of the event loops."""

    def run(work: Coroutine[Any, Any, T]) -> T:
        with asyncio.Runner(loop_factory=FACTORIES[request.param]) as runner:
            return runner.run(asyncio.wait_for(work, 60))

    return run


async def answer_to(transport: Transport, url: str, content: bytes = b"hello") -> tuple[int, bytes]:
    """The status and the body of one reply."""
    endpoint = Endpoint(url)
    headers = {"host": endpoint.host, "content-length": str(len(content))}
    reply = await post(transport, endpoint, headers, RequestBody(content))
    try:
        pieces = [piece async for piece in Body(reply.raw_headers, reply, LIMIT).pieces()]
    finally:
        await reply.aclose()
    return reply.status, b"".join(pieces)


def answering(*pieces: bytes, hang_up: bool = False) -> Script:
    """Answers each request with these bytes."""

    def script(server: Server, connection: socket.socket) -> None:
        while server.read(connection):
            for piece in pieces:
                connection.sendall(piece)
            if hang_up:
                return

    return script


@every("way", FRAMED)
@every("by_bytes", [False, True])
def test_a_reply_ends_where_its_head_says(
    way: str, by_bytes: bool, in_loop: Callable[[Coroutine[Any, Any, None]], None]
) -> None:
    reply, body, is_reusable = FRAMED[way]
    pieces = [reply[at : at + 1] for at in range(len(reply))] if by_bytes else [reply]

    async def main(url: str) -> None:
        async with Transport(1) as transport:
            for _ in range(2):
                assert (await answer_to(transport, url))[1] == body

    with serving(answering(*pieces, hang_up=not is_reusable)) as server:
        in_loop(main(server.url))
        assert server.connections == (1 if is_reusable else 2)


@every("way", ["the connection is to be closed", "HTTP/1.0"])
def test_a_connection_that_is_to_be_closed_is_not_used_though_its_server_leaves_it_open(
    way: str, in_loop: Callable[[Coroutine[Any, Any, None]], None]
) -> None:
    async def main(url: str) -> None:
        async with Transport(1) as transport:
            for _ in range(2):
                assert await answer_to(transport, url) == (200, b"yes")

    with serving(answering(FRAMED[way][0])) as server:
        in_loop(main(server.url))
        assert server.connections == 2


def test_headers_of_an_interim_reply_are_none_of_the_reply() -> None:
    reply = FRAMED["interim replies before it"][0]

    async def main(url: str) -> None:
        async with Transport(1) as transport:
            headers = {"host": "x", "content-length": "0"}
            got = await post(transport, Endpoint(url), headers, RequestBody(b""))
            assert got.raw_headers == [(b"content-length", b"3")]
            await got.aclose()

    with serving(answering(reply)) as server:
        asyncio.run(main(server.url))


@every("later", [False, True])
def test_a_reply_that_was_not_asked_for_is_never_the_answer_to_the_next_request(
    later: bool, in_loop: Callable[[Coroutine[Any, Any, None]], None]
) -> None:
    forged = b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nforged"

    def script(server: Server, connection: socket.socket) -> None:
        while server.read(connection):
            true = b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\ntrue"
            if later:
                connection.sendall(true)
                connection.sendall(forged)
            else:
                connection.sendall(true + forged)

    async def main(url: str) -> None:
        async with Transport(1) as transport:
            for _ in range(20):
                assert await answer_to(transport, url) == (200, b"true")
                await asyncio.sleep(0.01)

    with serving(script) as server:
        in_loop(main(server.url))
        assert server.connections == 20


@every("more", [-1, 0, 1])
@every("piece_bytes", [100, 10**6])
@every("trails", [False, True])
def test_the_head_of_a_reply_is_read_up_to_its_limit(
    more: int, piece_bytes: int, trails: bool
) -> None:
    framing = (b"transfer-encoding", b"chunked") if trails else (b"content-length", b"0")
    value = b"v" * (MOST_HEAD_BYTES + more - len(b"".join(framing)) - 1)
    reply = b"HTTP/1.1 200 OK\r\n%b: %b\r\n" % framing
    reply += b"\r\n0\r\nx: %b\r\n\r\n" % value if trails else b"x: %b\r\n\r\n" % value
    pieces = [reply[at : at + piece_bytes] for at in range(0, len(reply), piece_bytes)]

    async def main(url: str) -> None:
        async with Transport(1) as transport:
            assert await answer_to(transport, url) == (200, b"")

    with serving(answering(*pieces)) as server:
        if more <= 0:
            asyncio.run(main(server.url))
        else:
            with pytest.raises(InvalidHttp, match="longer than 64 KiB"):
                asyncio.run(main(server.url))


def test_a_long_request_that_is_refused_at_once_has_its_answer(
    in_loop: Callable[[Coroutine[Any, Any, None]], None],
) -> None:
    over = threading.Event()

    def script(server: Server, connection: socket.socket) -> None:
        connection.recv(1000)
        connection.sendall(b"HTTP/1.1 413 Too Large\r\ncontent-length: 2\r\n\r\nno")
        over.wait(10)  # it reads no more

    async def main(url: str) -> None:
        async with Transport(1) as transport:
            for _ in range(2):
                assert await answer_to(transport, url, b"x" * 2**25) == (413, b"no")
            over.set()

    with serving(script) as server:
        in_loop(main(server.url))
        assert server.connections == 2


def test_a_request_that_was_not_sent_to_its_end_leaves_no_connection_to_the_next_one(
    in_loop: Callable[[Coroutine[Any, Any, None]], None],
) -> None:
    replied = threading.Event()

    def script(server: Server, connection: socket.socket) -> None:
        came = connection.recv(1000)
        connection.sendall(b"HTTP/1.1 413 Too Large\r\ncontent-length: 2\r\n\r\nno")
        replied.wait()  # a request that is read as fast as it is written comes to its end
        while came:
            came = connection.recv(2**16)  # it reads on, so that nothing waits to be written

    async def main(url: str) -> None:
        headers = {"host": "x", "content-length": str(2**25)}
        async with Transport(1) as transport:
            reply = await post(transport, Endpoint(url), headers, RequestBody(b"x" * 2**25))
            replied.set()
            await asyncio.sleep(0.3)
            await reply.aclose()
            assert await answer_to(transport, url) == (413, b"no")

    with serving(script) as server:
        in_loop(main(server.url))
        assert server.connections == 2


def test_a_body_that_nobody_reads_is_not_taken_in(
    in_loop: Callable[[Coroutine[Any, Any, None]], None],
) -> None:
    sent = [0]

    def script(server: Server, connection: socket.socket) -> None:
        server.read(connection)
        connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % 2**30)
        while True:
            sent[0] += connection.send(b"x" * 2**16)

    async def main(url: str) -> None:
        async with Transport(1) as transport:
            headers = {"host": "x", "content-length": "0"}
            reply = await post(transport, Endpoint(url), headers, RequestBody(b""))
            await asyncio.sleep(0.5)
            before = sent[0]
            await asyncio.sleep(0.5)
            assert sent[0] == before < 2**25, "buffers of both sides, and no more"
            with pytest.raises(BodyTooLong):
                async for _ in Body(reply.raw_headers, reply, 2**25).pieces():
                    pass
            assert sent[0] > before, "read on, and it comes"
            await reply.aclose()

    with serving(script) as server:
        in_loop(main(server.url))


def echo(server: Server, connection: socket.socket) -> None:
    """Answers with what it was sent, soon or late, in one piece or two."""
    chance = random.Random(server.connections)
    while request := server.read(connection):
        body = request.partition(b"\r\n\r\n")[2]
        reply = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(body) + body
        cut = chance.randrange(len(reply))
        for piece in (reply[:cut], reply[cut:]):
            threading.Event().wait(chance.choice((0, 0, 0.001, 0.01)))
            connection.sendall(piece)


@every("most", [1, 3, 8])
def test_whatever_is_given_up_every_answer_is_that_of_its_own_request(
    most: int, in_loop: Callable[[Coroutine[Any, Any, None]], None]
) -> None:
    chance = random.Random(SEED + most)

    async def ask(transport: Transport, url: str, number: int, patience_s: float) -> bool:
        content = b"%d " % number * chance.choice((1, 100, 20_000))
        try:
            async with asyncio.timeout(patience_s):
                assert await answer_to(transport, url, content) == (200, content)
        except TimeoutError:
            return False
        return True

    async def main(server: Server) -> None:
        async with Transport(most) as transport:
            asking = [
                ask(transport, server.url, number, chance.choice((0, 0.002, 0.02, 0.2, 30)))
                for number in range(200)
            ]
            answered = await asyncio.gather(*asking)
            assert 0 < sum(answered) < 200, "some are given up, and some are not"
            behind = [ask(transport, server.url, number, 30) for number in range(2 * most)]
            assert all(await asyncio.gather(*behind)), "no connection is lost to who gave up"

    with serving(echo) as server:
        in_loop(main(server))


WRONG = {
    "a space before the colon of its length": b"HTTP/1.1 200 OK\r\ncontent-length : 9\r\n\r\nyes",
    "a space before the colon of its coding": (
        b"HTTP/1.1 200 OK\r\ntransfer-encoding : chunked\r\n\r\n9\r\nyes"
    ),
    "a status that is none": b"HTTP/1.1 099 OK\r\ncontent-length: 3\r\n\r\nyes",
    "nothing but interim replies": b"HTTP/1.1 103 Early Hints\r\n\r\n" * 200,
}


@every("how", WRONG)
def test_a_reply_that_other_readers_may_frame_otherwise_is_an_error(
    how: str, in_loop: Callable[[Coroutine[Any, Any, None]], None]
) -> None:
    async def main(url: str) -> None:
        async with Transport(1) as transport:
            await answer_to(transport, url)

    with serving(answering(WRONG[how], hang_up=True)) as server, pytest.raises(InvalidHttp):
        in_loop(main(server.url))


@every(
    "head",
    [
        b"HTTP/1.1 200 ",
        b"HTTP/1.1 200 OK\r\nx: ",
        b"HTTP/1.1 200 OK\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3;",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\nx: ",
    ],
)
def test_a_line_without_an_end_is_not_read_for_ever(
    head: bytes, in_loop: Callable[[Coroutine[Any, Any, None]], None]
) -> None:
    def script(server: Server, connection: socket.socket) -> None:
        server.read(connection)
        connection.sendall(head)
        while True:
            connection.sendall(b"y" * 10_000)

    async def main(url: str) -> None:
        async with Transport(1) as transport, asyncio.timeout(20):
            await answer_to(transport, url)

    with serving(script) as server, pytest.raises(InvalidHttp, match="longer than 64 KiB"):
        in_loop(main(server.url))


@every("late", [b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nforged", b""])
def test_what_came_of_an_idle_connection_meanwhile_is_seen_before_it_is_used(
    late: bytes, in_loop: Callable[[Coroutine[Any, Any, None]], None]
) -> None:
    """A reply that was not asked for, or its end; the event loop had no time to read either."""

    def script(server: Server, connection: socket.socket) -> None:
        while server.read(connection):
            connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\ntrue")
            time.sleep(0.05)
            if not late:
                return
            connection.sendall(late)

    async def main(url: str) -> None:
        async with Transport(1) as transport:
            for _ in range(3):
                assert await answer_to(transport, url) == (200, b"true")
                time.sleep(0.2)  # noqa: ASYNC251  # nobody in this event loop gets on

    with serving(script) as server:
        in_loop(main(server.url))
        assert server.connections == 3


@pytest.mark.parametrize("framing", [b"connection: close", b"content-length: %d" % 2**20])
def test_over_tls_nothing_of_a_reply_is_lost_when_its_server_hangs_up(
    framing: bytes, tmp_path: Path, in_loop: Callable[[Coroutine[Any, Any, None]], None]
) -> None:
    public, context = authority(tmp_path)

    def script(server: Server, connection: socket.socket) -> None:
        with context.wrap_socket(connection, server_side=True) as tls:
            server.read(tls)
            tls.sendall(b"HTTP/1.1 200 OK\r\n%b\r\n\r\n" % framing + b"x" * 2**20)

    async def main(url: str) -> None:
        async with Transport(1, ca_file=str(public)) as transport:
            headers = {"host": "x", "content-length": "0"}
            reply = await post(transport, Endpoint(url), headers, RequestBody(b""))
            await asyncio.sleep(0.3)
            body = b"".join([piece async for piece in reply])
            await reply.aclose()
            assert body == b"x" * 2**20

    with serving(script) as server:
        in_loop(main(server.url.replace("http:", "https:")))


def test_a_transport_that_is_closed_ends_no_reply_as_whole_and_sends_nothing_more(
    in_loop: Callable[[Coroutine[Any, Any, None]], None],
) -> None:
    over = threading.Event()

    def script(server: Server, connection: socket.socket) -> None:
        server.read(connection)
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\npartial")
        over.wait(10)

    async def main(server: Server) -> None:
        transport = Transport(1)
        asking = [asyncio.create_task(answer_to(transport, server.url)) for _ in range(3)]
        await asyncio.to_thread(server.wait_for, 1)
        await asyncio.sleep(0.1)
        await transport.aclose()
        ended = await asyncio.gather(*asking, return_exceptions=True)
        assert [type(error) for error in ended] == [httpx.CloseError] * 3
        over.set()

    with serving(script) as server:
        in_loop(main(server))
        assert len(server.requests) == 1


@every("reply", [b"HTTP/1.1 413 Too Large\r\n\r\nno", b""])
def test_a_long_request_whose_server_ends_its_side_does_not_wait(
    reply: bytes, in_loop: Callable[[Coroutine[Any, Any, None]], None]
) -> None:
    over = threading.Event()

    def script(server: Server, connection: socket.socket) -> None:
        connection.recv(1000)
        connection.sendall(reply)
        connection.shutdown(socket.SHUT_WR)
        over.wait(10)

    async def main(url: str) -> None:
        async with Transport(1) as transport, asyncio.timeout(5):
            if reply:
                assert await answer_to(transport, url, b"x" * 2**24) == (413, b"no")
            else:
                with pytest.raises(ConnectionResetError):
                    await answer_to(transport, url, b"x" * 2**24)
        over.set()

    with serving(script) as server:
        in_loop(main(server.url))


def test_a_header_of_the_callers_own_stands_in_place_of_the_usual_one() -> None:
    async def main(url: str) -> None:
        headers = {"host": "x", "content-length": "0", "user-agent": "mine"}
        async with Transport(1) as transport:
            await (await post(transport, Endpoint(url), headers, RequestBody(b""))).aclose()

    with serving(answering(FRAMED["a length"][0])) as server:
        asyncio.run(main(server.url))
        assert server.requests[0].lower().count(b"user-agent:") == 1


def test_a_request_through_a_proxy_that_is_given_up_at_once_takes_no_connection_for_ever(
    in_loop: Callable[[Coroutine[Any, Any, None]], None],
) -> None:
    async def main(proxy: str) -> None:
        async with Transport(1, proxy=proxy) as transport:
            for patience_s in (0, 0.001, 5):
                try:
                    async with asyncio.timeout(patience_s):
                        answer = await answer_to(transport, "http://model.invalid/v1")
                except TimeoutError:
                    assert patience_s < 5
                else:
                    assert answer == (200, b"yes")

    with serving(answering(FRAMED["a length"][0])) as server:
        in_loop(main(server.url.removesuffix("/v1")))
        assert server.requests


def test_what_a_proxy_says_is_not_quoted() -> None:
    refusal = b"HTTP/1.1 407 secret-canary\r\ncontent-length: 0\r\n\r\n"

    def script(server: Server, connection: socket.socket) -> None:
        connection.recv(2**16)
        connection.sendall(refusal)

    async def main(proxy: str) -> None:
        async with Transport(1, proxy=proxy) as transport:
            await answer_to(transport, "https://model.invalid/v1")

    with serving(script) as server:
        with pytest.raises(LOST) as caught:
            asyncio.run(main(server.url.removesuffix("/v1")))
        assert "canary" not in reason(caught.value)


@every("url", ["http://\u2603.com/v1", "http://127.0.0.1/v1\n", "http://a..b/v1"])
def test_a_url_that_is_none_is_an_error_that_is_caught(url: str) -> None:
    with pytest.raises(LOST):
        fetch_now(url, limit=10, timeout_s=5)


@every("length", [0, 1, PIECE_BYTES - 1, PIECE_BYTES, PIECE_BYTES + 1, 2 * PIECE_BYTES])
def test_a_request_around_the_size_of_a_piece_arrives_whole(
    length: int, in_loop: Callable[[Coroutine[Any, Any, None]], None]
) -> None:
    content = random.Random(length).randbytes(length)

    async def main(url: str) -> None:
        async with Transport(1) as transport:
            for _ in range(2):
                assert await answer_to(transport, url, content) == (200, content)

    with serving(echo) as server:
        in_loop(main(server.url))
        assert server.connections == 1


@every("more", [-1, 0, 1])
def test_interim_replies_are_read_up_to_their_limit(more: int) -> None:
    interim = b"HTTP/1.1 103 Early Hints\r\n\r\n" * (MOST_INTERIM_REPLIES + more)

    async def main(url: str) -> None:
        async with Transport(1) as transport:
            for _ in range(2):
                assert await answer_to(transport, url) == (200, b"yes")

    with serving(answering(interim + FRAMED["a length"][0])) as server:
        if more <= 0:
            asyncio.run(main(server.url))
        else:
            with pytest.raises(InvalidHttp, match="without a final status"):
                asyncio.run(main(server.url))


def test_no_more_connections_are_open_than_were_asked_for() -> None:
    open_now, most_open, lock = [0], [0], threading.Lock()

    def script(server: Server, connection: socket.socket) -> None:
        with lock:
            open_now[0] += 1
            most_open[0] = max(most_open[0], open_now[0])
        try:
            echo(server, connection)
        finally:
            with lock:
                open_now[0] -= 1

    async def main(url: str) -> None:
        async with Transport(3) as transport:
            await asyncio.gather(*(answer_to(transport, url) for _ in range(60)))

    with serving(script) as server:
        asyncio.run(main(server.url))
    assert most_open == [3]


def test_a_connection_that_was_idle_for_long_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "KEPT_ALIVE_S", 0.2)

    async def main(url: str) -> None:
        async with Transport(1) as transport:
            for pause in (0.0, 0.4, 0.0):
                await answer_to(transport, url)
                await asyncio.sleep(pause)
            await answer_to(transport, url)

    with serving(echo) as server:
        asyncio.run(main(server.url))
        assert server.connections == 2


def test_a_host_is_looked_up_once_for_all_that_wait_and_again_after_a_failure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked_up = []

    def getaddrinfo(host: str, *arguments: Any, **more: Any) -> Any:
        looked_up.append(host)
        if len(looked_up) == 1:
            raise socket.gaierror(socket.EAI_NONAME, "not known")
        return real(host, *arguments, **more)

    real = socket.getaddrinfo
    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)

    async def main(url: str) -> None:
        async with Transport(8) as transport:
            by_name = url.replace("127.0.0.1", "localhost")
            failed = await asyncio.gather(
                *(answer_to(transport, by_name) for _ in range(8)), return_exceptions=True
            )
            assert {type(error) for error in failed} == {socket.gaierror}
            await asyncio.gather(*(answer_to(transport, by_name) for _ in range(8)))

    with serving(echo) as server:
        asyncio.run(main(server.url))
    assert looked_up == ["localhost", "localhost"]


def test_a_scheme_that_is_none_of_http_is_refused() -> None:
    with pytest.raises(Exception, match="begins with http:// or https://"):
        fetch_now("ftp://127.0.0.1/x", limit=10, timeout_s=5)
