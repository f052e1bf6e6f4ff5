"""Servers that speak no HTTP, or HTTP that is wrong, or never stop: errors, never a crash."""

from __future__ import annotations

import asyncio
import gzip
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from failproof_es.configuration.schema import Model
from failproof_es.core.case import Turn
from failproof_es.models import ModelError, create_provider, http, http_check
from failproof_es.models.protocol import Provider
from failproof_es.problems import InvalidInput
from tests.every import every

ODD = {
    "speaks no HTTP": b"SSH-2.0-OpenSSH_9.6\r\n",
    "hangs up": b"",
    "gives a length below zero": b"HTTP/1.1 200 OK\r\ncontent-length: -5\r\n\r\nabc",
    "gives two lengths": b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab",
    "gives a header without end": b"HTTP/1.1 200 OK\r\nserver: " + b"a" * 100_000 + b"\r\n\r\n",
    "frames no chunk": b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nZZZ\r\n",
}


def against(
    script: Callable[[], AsyncIterator[bytes]],
    work: Callable[[Provider], Awaitable[None]],
    timeout_ms: int = 5_000,
) -> list[bytes]:
    """Do the work with a provider whose server writes these bytes, whatever it is asked.

    Returns what every request began with.
    """
    heads: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            heads.append(await reader.readuntil(b"\r\n\r\n"))
            async for piece in script():
                writer.write(piece)
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def main() -> None:
        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            model = Model(provider="openai", model="odd", base_url=f"http://localhost:{port}/v1")
            provider = create_provider(model, timeout_ms=timeout_ms, connections=1)
            try:
                await work(provider)
            finally:
                await provider.close()

    asyncio.run(main())
    return heads


async def asked(provider: Provider) -> None:
    await provider.send(provider.prepare([Turn(role="user", content="hello")]))


@every("how", ODD)
def test_a_server_that_is_none_is_said_in_words(how: str) -> None:
    async def script() -> AsyncIterator[bytes]:
        yield ODD[how]

    async def work(provider: Provider) -> None:
        with pytest.raises(InvalidInput, match=r"\[server-unreachable\]"):
            await provider.check()
        with pytest.raises(ModelError) as caught:
            await asked(provider)
        assert (caught.value.kind, caught.value.disposition) == ("connection", "transient")

    against(script, work)


def test_a_reason_that_is_not_utf_8_is_not_read() -> None:
    async def script() -> AsyncIterator[bytes]:
        yield b"HTTP/1.1 500 \xff\xfe\r\ncontent-length: 0\r\n\r\n"

    async def work(provider: Provider) -> None:
        with pytest.raises(ModelError) as caught:
            await asked(provider)
        assert (caught.value.kind, caught.value.status) == ("server_error", 500)

    against(script, work)


def test_a_list_of_models_that_never_ends_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http_check, "TIMEOUT_S", 0.3)

    async def script() -> AsyncIterator[bytes]:
        yield b"HTTP/1.1 200 OK\r\n\r\n"
        while True:
            yield b" "
            await asyncio.sleep(0.05)

    async def work(provider: Provider) -> None:
        async with asyncio.timeout(3):
            with pytest.raises(InvalidInput, match=r"no answer within 0\.3 s"):
                await provider.check()

    against(script, work)


def test_a_reply_that_unpacks_to_more_than_any_answer_is_not_read_to_its_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http, "LONGEST_REPLY_BYTES", 2**20)
    packed = gzip.compress(b"0" * 2**26)

    async def script() -> AsyncIterator[bytes]:
        yield b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\n\r\n" + packed

    async def work(provider: Provider) -> None:
        assert "does not list its models" in str(await provider.check())
        with pytest.raises(ModelError, match="not read beyond 1 MiB") as caught:
            await asked(provider)
        assert (caught.value.kind, caught.value.disposition) == ("malformed_response", "final")
        assert caught.value.body == b"0" * 2**20

    against(script, work)


def test_no_cookie_ties_a_request_to_the_one_before() -> None:
    body = b'{"choices": [{"message": {"content": "hello"}}]}'

    async def script() -> AsyncIterator[bytes]:
        yield b"HTTP/1.1 200 OK\r\nset-cookie: session=1; Path=/\r\n\r\n" + body

    async def work(provider: Provider) -> None:
        await provider.check()
        await asked(provider)
        await asked(provider)

    heads = against(script, work)
    assert len(heads) == 3
    assert not any(b"cookie" in head.lower() for head in heads)


COMPLETION = b'{"choices": [{"message": {"content": "hello"}}]}'
EVENTS = (
    b'data: {"choices":[{"delta":{"content":"hello"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
)


@every("size", [1, 5, 10_000])
@every(("kind", "body"), [(b"application/json", COMPLETION), (b"text/event-stream", EVENTS)])
@every("coding", [b"gzip", b"deflate"])
def test_a_packed_reply_is_read_and_recorded_unpacked(
    coding: bytes, kind: bytes, body: bytes, size: int
) -> None:
    packed = gzip.compress(body) if coding == b"gzip" else zlib.compress(body)

    async def script() -> AsyncIterator[bytes]:
        yield b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: %b\r\n" % kind
        yield b"content-encoding: %b\r\n\r\n" % coding
        for at in range(0, len(packed), size):
            yield packed[at : at + size]

    async def work(provider: Provider) -> None:
        answer = await provider.send(provider.prepare([Turn(role="user", content="hello")]))
        assert (answer.text, answer.body) == ("hello", body)

    [head] = against(script, work)
    assert b"accept-encoding: gzip, deflate\r\n" in head.lower()


@every(("codings", "disposition"), [(b"gzip, gzip", "transient"), (b"br", "transient")])
def test_a_reply_that_is_packed_in_another_way_is_an_error_that_keeps_its_bytes(
    codings: bytes, disposition: str
) -> None:
    packed = gzip.compress(gzip.compress(COMPLETION))

    async def script() -> AsyncIterator[bytes]:
        yield b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-encoding: %b\r\n\r\n" % codings
        yield packed

    async def work(provider: Provider) -> None:
        with pytest.raises(ModelError) as caught:
            await asked(provider)
        assert (caught.value.kind, caught.value.disposition) == ("malformed_response", disposition)
        assert caught.value.body == packed

    against(script, work)


@every("more", [-1, 0, 1])
@every("coding", [b"identity", b"gzip"])
def test_a_reply_is_read_up_to_the_limit_and_not_a_byte_more(coding: bytes, more: int) -> None:
    length = http.LONGEST_REPLY_BYTES + more
    body = COMPLETION + b" " * (length - len(COMPLETION))

    async def script() -> AsyncIterator[bytes]:
        yield b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-encoding: %b\r\n\r\n" % coding
        yield gzip.compress(body) if coding == b"gzip" else body

    async def work(provider: Provider) -> None:
        if more <= 0:
            await asked(provider)
            return
        with pytest.raises(ModelError, match="not read beyond 8 MiB") as caught:
            await asked(provider)
        assert len(caught.value.body or b"") == http.LONGEST_REPLY_BYTES

    against(script, work)


@every("codings", [b"br", b"gzip"])
def test_a_packed_reply_that_never_ends_leaves_its_bytes(codings: bytes) -> None:
    begun = gzip.compress(COMPLETION)[:10]

    async def script() -> AsyncIterator[bytes]:
        yield b"HTTP/1.1 200 OK\r\ncontent-encoding: %b\r\n\r\n" % codings
        yield begun
        await asyncio.sleep(20)

    async def work(provider: Provider) -> None:
        with pytest.raises(ModelError) as caught:
            await asked(provider)
        assert caught.value.kind == "timeout"
        assert caught.value.body == begun

    against(script, work, timeout_ms=1_500)
