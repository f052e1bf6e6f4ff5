"""A model server that takes hardly any of the processor: where it must not be the limit.

`python -m tests.benchmarks.reach.light_server --latency-ms 50` prints its URL. Every request of a
chat gets the same answer after that time. `GET /counted` tells how many came, and how many of
them came again: by the bytes of their bodies. After `POST /hold?after=N` it never answers a request
beyond the first N, until `POST /hold?after=`. It speaks no more of HTTP than its clients need.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Callable
from hashlib import blake2b
from typing import cast

import httpx
import orjson

from failproof_es.support import event_loop

_ANSWER = orjson.dumps(
    {
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "mock",
        "choices": [
            {
                "index": 0, "finish_reason": "stop",
                "message": {
                    "role": "assistant",
                    "content": "You said: the number is in the question. " * 8,
                },
            }
        ],
        "usage": {"prompt_tokens": 150, "completion_tokens": 80, "total_tokens": 230},
    }
)  # fmt: skip
_MODELS = b'{"data": [{"id": "mock"}]}'
_END = b"\r\n\r\n"
_LENGTH = b"content-length:"
_HOLD = b"/hold?after="


class Counter:
    """What came."""

    def __init__(self, latency_s: float) -> None:
        self.latency_s = latency_s
        self.requests = 0
        self.seen: set[bytes] = set()
        self.hold_after: int | None = None

    def count(self, body: bytes) -> None:
        """One more request of a chat."""
        self.requests += 1
        self.seen.add(blake2b(body, digest_size=12).digest())

    @property
    def is_holding(self) -> bool:
        """Whether the request that came last is never answered."""
        return self.hold_after is not None and self.requests > self.hold_after

    def told(self) -> bytes:
        """As JSON."""
        return orjson.dumps({"requests": self.requests, "again": self.requests - len(self.seen)})


class LightProtocol(asyncio.Protocol):
    """One connection: one request after the other."""

    def __init__(self, counter: Counter, later: Callable[..., object]) -> None:
        self._counter = counter
        self._later = later
        self._received = bytearray()
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See `asyncio.Protocol`."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is one in all but name

    def data_received(self, data: bytes) -> None:
        """Answer each whole request."""
        self._received += data
        while (head_end := self._received.find(_END)) >= 0:
            head = bytes(self._received[:head_end])
            length = _content_length(head)
            whole = head_end + len(_END) + length
            if len(self._received) < whole:
                return
            body = bytes(self._received[head_end + len(_END) : whole])
            del self._received[:whole]
            self._answer(head, body)

    def _answer(self, head: bytes, body: bytes) -> None:
        method, path, _ = head.split(b" ", 2)
        if method == b"POST" and path.startswith(_HOLD):
            number = path.removeprefix(_HOLD)
            self._counter.hold_after = int(number) if number else None
            self._send(_MODELS)
        elif method == b"POST":
            self._counter.count(body)
            if not self._counter.is_holding:
                self._later(self._counter.latency_s, self._send, _ANSWER)
        else:
            self._send(self._counter.told() if path.endswith(b"/counted") else _MODELS)

    def _send(self, body: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(
                b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
                % (len(body), body)
            )


def _content_length(head: bytes) -> int:
    at = head.lower().find(_LENGTH)
    return 0 if at < 0 else int(head[at + len(_LENGTH) :].split(b"\r\n", 1)[0])


def hold(base_url: str, after: int | None) -> None:
    """Have the server at `base_url` answer so many requests and no more; `None`: all again."""
    place = base_url.removesuffix("/v1") + f"/hold?after={'' if after is None else after}"
    with httpx.Client() as client:
        client.post(place)


async def _serve(latency_s: float) -> None:
    loop = asyncio.get_running_loop()
    counter = Counter(latency_s)
    server = await loop.create_server(
        lambda: LightProtocol(counter, loop.call_later), "127.0.0.1", 0, backlog=2048
    )
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--latency-ms", type=float, default=50.0)
    event_loop.run(_serve(parser.parse_args().latency_ms / 1000))
