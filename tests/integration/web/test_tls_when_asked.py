"""The client reads whom this machine trusts when it asks over TLS, and not before."""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from failproof_es.web.client import LOST, fetch, open_client

LIMIT = 100


class Server(BaseHTTPRequestHandler):
    """Answers `yes` whatever it is asked."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "3")
        self.end_headers()
        self.wfile.write(b"yes")

    def log_message(self, format: str, *arguments: object) -> None:
        """Say nothing."""


@pytest.fixture
def port() -> Iterator[int]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server.server_port
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every time that a context is given the certificates to trust."""
    seen: list[str] = []
    for name in ("load_verify_locations", "load_default_certs", "set_default_verify_paths"):

        def noted(*arguments: object, _name: str = name, **settings: object) -> None:
            seen.append(_name)

        monkeypatch.setattr(ssl.SSLContext, name, noted)
    return seen


def ask(url: str) -> bytes:
    async def asking() -> bytes:
        async with open_client(10.0) as client:
            return (await fetch(client, "GET", url, limit=LIMIT, timeout_s=10.0)).body

    return asyncio.run(asking())


def test_plain_http_reads_no_certificates(port: int, read: list[str]) -> None:
    assert ask(f"http://127.0.0.1:{port}/") == b"yes"
    assert read == []


def test_https_reads_them_and_trusts_nobody_else(port: int, read: list[str]) -> None:
    with pytest.raises(LOST):
        ask(f"https://127.0.0.1:{port}/")
    assert read


def test_one_client_asks_over_both(port: int) -> None:
    async def asking() -> bytes:
        async with open_client(10.0) as client:
            plain = f"http://127.0.0.1:{port}/"
            await fetch(client, "GET", plain, limit=LIMIT, timeout_s=10.0)
            with pytest.raises(LOST):
                await fetch(
                    client, "GET", f"https://127.0.0.1:{port}/", limit=LIMIT, timeout_s=10.0
                )
            return (await fetch(client, "GET", plain, limit=LIMIT, timeout_s=10.0)).body

    assert asyncio.run(asking()) == b"yes"
