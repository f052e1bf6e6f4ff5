"""Serves the console with uvicorn, in this process."""

from __future__ import annotations

import uvicorn

from failproof_es.console.app import create_app
from failproof_es.console.security.connections import bounded_protocol
from failproof_es.console.settings import ConsoleSettings

_LONGEST_HEAD = 16_384
"""Most bytes of a request line with its headers."""
MOST_CONNECTIONS = 800
"""Most connections; others get 503. Live pages, which stay open, have a limit of their own."""


def make_server(settings: ConsoleSettings) -> uvicorn.Server:
    """A server, not started. It ignores proxy headers and does not name itself in responses."""
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
