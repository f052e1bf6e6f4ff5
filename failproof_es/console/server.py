"""Serves the console with uvicorn, in this process."""

from __future__ import annotations

import socket

import uvicorn

from failproof_es.console.app import create_app
from failproof_es.console.settings import ConsoleSettings
from failproof_es.problems import InvalidInput

_LONGEST_HEAD = 16_384
"""Bytes of a request line with its headers."""


def listen(settings: ConsoleSettings) -> socket.socket:
    """A socket that listens where the settings say. Raises `InvalidInput` where it cannot."""
    host = settings.host.strip("[]")
    try:
        family, _, _, _, address = socket.getaddrinfo(
            host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listening = socket.socket(family, socket.SOCK_STREAM)
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(address)
            listening.listen(128)
        except BaseException:
            listening.close()
            raise
    except OSError as error:
        raise InvalidInput.because(
            f"the console cannot listen on {settings.host} port {settings.port}: "
            f"{error.strerror or error}",
            remedy="choose another with --port, or stop what listens there",
        ) from None
    return listening


def make_server(settings: ConsoleSettings) -> uvicorn.Server:
    """A server that is not started. It believes no header of a proxy, and tells no version."""
    return uvicorn.Server(
        uvicorn.Config(
            create_app(settings),
            host=settings.host,
            port=settings.port,
            http="h11",
            ws="none",
            proxy_headers=False,
            server_header=False,
            access_log=False,
            log_level="warning",
            h11_max_incomplete_event_size=_LONGEST_HEAD,
            timeout_keep_alive=15,
            timeout_graceful_shutdown=3,
            limit_concurrency=200,
        )
    )
