"""Serves the console with uvicorn, in this process."""

from __future__ import annotations

import uvicorn

from failproof_es.console.app import create_app
from failproof_es.console.security.connections import bounded_protocol
from failproof_es.console.settings import ConsoleSettings

_LONGEST_HEAD = 16_384
"""Bytes of a request line with its headers."""
MOST_CONNECTIONS = 800
"""Connections beyond them are told to come again. Live pages, which stay, are bounded apart."""


def make_server(settings: ConsoleSettings) -> uvicorn.Server:
    """A server that is not started. It believes no header of a proxy, and tells no version."""
    return uvicorn.Server(
        uvicorn.Config(
            create_app(settings),
            host=settings.host,
            port=settings.port,
            http=bounded_protocol(),
            ws="none",
            proxy_headers=False,
            server_header=False,
            access_log=False,
            log_level="warning",
            h11_max_incomplete_event_size=_LONGEST_HEAD,
            timeout_keep_alive=15,
            timeout_graceful_shutdown=3,
            limit_concurrency=MOST_CONNECTIONS,
        )
    )
