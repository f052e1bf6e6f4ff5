"""A server that sends the worst replies there are, byte for byte, for as long as it is let."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import struct
import threading
import zlib
from collections.abc import AsyncIterator, Callable, Iterator
from itertools import repeat

MIB = 2**20
_GZIP_HEAD = b"\x1f\x8b\x08\0\0\0\0\0\2\xff"
OK = b"HTTP/1.1 200 OK\r\nConnection: close\r\n"
JSON = OK + b"Content-Type: application/json\r\n"
STREAM = OK + b"Content-Type: text/event-stream\r\n"
LONG = 9 * MIB
"""More than is read of any reply."""
NUMBERS = range(300_000)
MOST = 8 * MIB - 4096
"""Nearly all that is read."""


def filled(begin: bytes, unit: bytes, end: bytes, size: int = MOST) -> bytes:
    """`unit` again and again between `begin` and `end`."""
    return begin + unit * ((size - len(begin) - len(end)) // len(unit)) + end


def saying(unit: bytes, size: int = MOST) -> bytes:
    """A completion whose text is `unit` again and again, as JSON has it."""
    return filled(b'{"choices":[{"message":{"content":"', unit, b'"}}]}', size)


def holding(unit: bytes, size: int = MOST) -> bytes:
    """A completion that holds a list of `unit` beside its text."""
    return filled(b'{"choices":[{"message":{"content":"x"}}],"more":[', unit + b",", b"0]}", size)


def chunks(*pieces: bytes) -> Iterator[bytes]:
    """Events of a stream, each a delta of this JSON."""
    for piece in pieces:
        yield b'data: {"choices":[{"delta":' + piece + b"}]}\n\n"


def whole(body: bytes, head: bytes = JSON) -> Iterator[bytes]:
    yield head + b"Content-Length: %d\r\n\r\n" % len(body)
    yield body


def packed(body: bytes, codings: bytes = b"gzip", head: bytes = JSON) -> Iterator[bytes]:
    return whole(body, head + b"Content-Encoding: " + codings + b"\r\n")


def streamed(*events: bytes, most: int, end: bool = True) -> Iterator[bytes]:
    """The events again and again; then the end of the stream."""
    yield STREAM + b"\r\n"
    together = b"".join(events)
    for _ in range(most // len(together)):
        yield together
    if end:
        yield b'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'


def endless(head: bytes, unit: bytes) -> Iterator[bytes]:
    yield head
    yield from repeat(unit * (2**16 // len(unit) or 1))


def bomb(unit: bytes, mebibytes: int) -> bytes:
    """A gzip of that much of `unit`, of which one mebibyte is packed, and repeated as packed."""
    block = unit * (MIB // len(unit))
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    packed_block = packer.compress(block) + packer.flush(zlib.Z_FULL_FLUSH)
    checksum = 0
    for _ in range(mebibytes):
        checksum = zlib.crc32(block, checksum)
    trailer = struct.pack("<II", checksum, mebibytes * len(block) % 2**32)
    return _GZIP_HEAD + packed_block * mebibytes + packer.flush() + trailer


KINDS: dict[str, Callable[[], Iterator[bytes]]] = {
    "a gzip of NULs": lambda: packed(bomb(b"\0", 512)),
    "a gzip of a gzip": lambda: packed(gzip.compress(bomb(b"0", 512)), b"gzip, gzip"),
    "a gzip of a stream's blank lines": lambda: packed(bomb(b"\n", 512), head=STREAM),
    "a gzip of empty gzips": lambda: endless(
        JSON + b"Content-Encoding: gzip\r\n\r\n", gzip.compress(b"")
    ),
    "a coding that nobody asked for": lambda: packed(bytes(LONG), b"br"),
    "headers without end": lambda: endless(OK, b"X-More: again\r\n"),
    "one header without end": lambda: endless(OK + b"X-More: ", b"again"),
    "as many long headers as there may be": lambda: iter(
        [OK + b"".join(b"x-ratelimit-%d: %b\r\n" % (n, b"y" * 8000) for n in range(120)) + b"\r\n"]
    ),
    "interim replies without end": lambda: endless(b"", b"HTTP/1.1 103 Early Hints\r\n\r\n"),
    "a body without end": lambda: endless(JSON + b"\r\n", b"{"),
    "chunks of one byte without end": lambda: endless(
        JSON + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n"
    ),
    "one byte after the other": lambda: iter([JSON + b"\r\n", *[b" "] * 1000]),
    "its head one byte after the other": lambda: (b"%c" % sign for sign in JSON * 100),
    "lists in lists": lambda: whole(b"[" * MOST),
    "many small objects": lambda: whole(holding(b'{"":0}')),
    "as many small objects as are read": lambda: whole(holding(b'{"":0}', 2 * MIB)),
    "many small numbers": lambda: whole(holding(b"999")),
    "many empty texts": lambda: whole(holding(b'""')),
    "one long number": lambda: whole(filled(b'{"usage":{"prompt_tokens":', b"9", b"}}")),
    "the same key again and again": lambda: whole(filled(b"{", b'"key":1,', b'"a":1}')),
    "many choices": lambda: whole(
        filled(b'{"choices":[', b'{"message":{"content":"x"}},', b"{}]}", 2 * MIB)
    ),
    "bytes that are no UTF-8": lambda: whole(saying(b"\xff")),
    "raw NULs": lambda: whole(bytes(MOST)),
    "escaped NULs": lambda: whole(saying(rb"\u0000")),
    "escaped quotes": lambda: whole(saying(rb"\"")),
    "a text of emoji": lambda: whole(saying("\U0001f600".encode())),
    "the longest text": lambda: whole(saying("\U0001f600".encode(), 4 * MIB)),
    "the longest text, and as much beside it": lambda: whole(
        saying("a\U0001f600".encode(), 4 * MIB)[:-1]
        + filled(b',"x":"', b"a", b'"}', 4 * MIB - 4096)
    ),
    "a long model name": lambda: whole(
        filled(b'{"choices":[{"message":{"content":"x"}}],"model":"', b"m", b'"}')
    ),
    "a long error": lambda: whole(
        filled(b'{"error":{"message":"', "\U0001f600".encode(), b'"}}'),
        JSON.replace(b"200 OK", b"500 No"),
    ),
    "a long error in place of an answer": lambda: whole(
        filled(b'{"error":{"message":"', "\U0001f600".encode(), b'"}}')
    ),
    "a token count beyond all counting": lambda: whole(
        b'{"choices":[{"message":{"content":"x"}}],"usage":{"prompt_tokens":1e308,'
        b'"completion_tokens":999999999999999999999999}}'
    ),
    "a million events": lambda: streamed(*chunks(b'{"content":"\xc4\x80"}'), most=MOST),
    "an event without end": lambda: endless(STREAM + b"\r\n", b"data: x"),
    "a million lines in one event": lambda: endless(STREAM + b"\r\n", b"data: \xc4\x80x\n"),
    "blank lines without end": lambda: endless(STREAM + b"\r\n", b"\n"),
    "comments without end": lambda: endless(STREAM + b"\r\n", b": ping\n\n"),
    "events that are cut after every byte": lambda: (
        STREAM + b"Transfer-Encoding: chunked\r\n\r\n" if n == 0 else piece
        for n, piece in enumerate(
            b"1\r\n%c\r\n" % sign for each in repeat(b'data: {"a":"b"}\n\n') for sign in each
        )
    ),
    "a million tool calls": lambda: streamed(
        *chunks(*(b'{"tool_calls":[{"index":%d,"function":{"name":"x"}}]}' % n for n in NUMBERS)),
        most=MOST,
    ),
    "as many tool calls as are read": lambda: streamed(
        *chunks(
            *(b'{"tool_calls":[{"index":%d,"function":{"name":"x"}}]}' % n for n in range(1000))
        ),
        most=MOST,
    ),
    "a tool call in a million pieces": lambda: streamed(
        *chunks(b'{"tool_calls":[{"function":{"name":"a","arguments":"b"}}]}'), most=MOST
    ),
    "a million fields": lambda: streamed(
        *(b'data: {"%x":"%x"}\n\n' % (n, n) for n in NUMBERS), most=MOST
    ),
    "an event of many small objects": lambda: whole(
        b"data: " + holding(b'{"":0}', 2 * MIB) + b"\n\n", STREAM
    ),
    "a redirect to itself": lambda: iter(
        [b"HTTP/1.1 307 Again\r\nLocation: /v1/chat/completions\r\nContent-Length: 0\r\n\r\n"]
    ),
    "less than it said": lambda: iter([JSON + b"Content-Length: 1000000000\r\n\r\n{"]),
    "a reset in the middle": lambda: iter([JSON + b"Content-Length: 99\r\n\r\n{", b""]),
    "a million events, and then nothing": lambda: streamed(
        *chunks(b'{"content":"x"}'), most=7 * MIB, end=False
    ),
    "nearly the key again and again": lambda: whole(saying(b"sk-worst-0123456789-worst-key-")),
    "nothing but backslashes": lambda: whole(saying(rb"\\")),
    "escapes of every character": lambda: whole(saying(rb"\u0073")),
    "references to every character": lambda: whole(saying(b"&#65")),
}
SLOW = {"one byte after the other", "its head one byte after the other"}
SILENT = {"less than it said", "a million events, and then nothing"}
RESET = {"a reset in the middle"}
ENDLESS = {*SLOW, *SILENT, "events that are cut after every byte"}
"""Those that only a time-out ends."""
STREAMED = {
    "a million events", "an event without end", "a million lines in one event",
    "blank lines without end", "comments without end", "a million tool calls",
    "as many tool calls as are read", "a tool call in a million pieces", "a million fields",
    "an event of many small objects", "a gzip of a stream's blank lines",
}  # fmt: skip
"""Streams that end, or are too long."""


class WorstServer:
    """Serves one kind of reply on loopback, in a thread of its own."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        KINDS[kind]()  # what takes long to pack is packed before anybody waits for it
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._serving: set[asyncio.Task[None]] = set()
        self.url = ""

    def __enter__(self) -> WorstServer:
        self._thread.start()
        self._server = asyncio.run_coroutine_threadsafe(
            asyncio.start_server(self._serve, "127.0.0.1", 0), self._loop
        ).result()
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/v1"
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _stop(self) -> None:
        self._server.close()
        for task in self._serving:
            task.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if (task := asyncio.current_task()) is not None:
            self._serving.add(task)
        with contextlib.suppress(
            ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError
        ):
            await reader.readuntil(b"\r\n\r\n")
            async for piece in self._pieces():
                writer.write(piece)
                await writer.drain()
            if self._kind in SILENT:
                await asyncio.sleep(60)
            if self._kind in RESET:
                writer.transport.abort()
        writer.close()

    async def _pieces(self) -> AsyncIterator[bytes]:
        for piece in KINDS[self._kind]():
            yield piece
            await asyncio.sleep(0.1 if self._kind in SLOW else 0)
