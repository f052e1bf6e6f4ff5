"""Serves a witness over HTTP (C2SP tlog-witness), with the bounds of the console's server."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any

import uvicorn

from failproof_es.assurance.signing.witness import MOST_BYTES, Witness, WitnessReply
from failproof_es.console.security.connections import bounded_protocol
from failproof_es.problems import InvalidInput

BODY_S = 10.0
"""Seconds for the body of a request."""
_MOST_CONNECTIONS = 200
_LOGGER = logging.getLogger("uvicorn.error")

Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]


class WitnessApp:
    """The ASGI application of a witness."""

    def __init__(self, witness: Witness) -> None:
        self._witness = witness

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        reply = await self._reply(scope["method"], scope["path"], receive)
        content = reply.content.encode()
        headers = [
            (b"content-type", reply.media_type.encode()),
            (b"content-length", str(len(content)).encode()),
        ]
        await send({"type": "http.response.start", "status": reply.status, "headers": headers})
        await send({"type": "http.response.body", "body": content})

    async def _reply(self, method: str, path: str, receive: Receive) -> WitnessReply:
        folder, _, name = path.strip("/").rpartition("/")
        try:
            if (method, name, folder) == ("POST", "add-checkpoint", ""):
                content = await _body(receive)
                if content is None:
                    return WitnessReply(413, f"a request has at most {MOST_BYTES} bytes\n")
                now = int(time.time())
                return await asyncio.to_thread(self._witness.add_checkpoint, content, now)
            if (method, name) == ("GET", "checkpoint"):
                return await asyncio.to_thread(self._witness.kept, folder)
        except TimeoutError:
            return WitnessReply(408, "the request did not arrive in time\n")
        except InvalidInput as error:
            _LOGGER.error(f"{error}")
            return WitnessReply(500, "the witness cannot use what it keeps\n")
        return WitnessReply(404, "POST /add-checkpoint, or GET /<origin hash>/checkpoint\n")


async def _body(receive: Receive) -> bytes | None:
    """The body of the request; `None` if it is too long. Raises `TimeoutError`."""
    content = bytearray()
    async with asyncio.timeout(BODY_S):
        while True:
            message = await receive()
            content += message.get("body", b"")
            if len(content) > MOST_BYTES:
                return None
            if not message.get("more_body"):
                return bytes(content)


def make_witness_server(witness: Witness, host: str, port: int) -> uvicorn.Server:
    """A server, not started."""
    return uvicorn.Server(
        uvicorn.Config(
            WitnessApp(witness),
            host=host,
            port=port,
            http=bounded_protocol(),
            ws="none",
            lifespan="off",
            proxy_headers=False,
            server_header=False,
            access_log=False,
            log_level="warning",
            limit_concurrency=_MOST_CONNECTIONS,
        )
    )
