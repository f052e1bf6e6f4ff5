"""Who only connects to the console keeps nobody out: heads have a time, addresses a bound."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

import httpx
import pytest

from failproof_es.console.security import connections
from failproof_es.console.security.connections import MOST_WITHOUT_A_HEAD
from failproof_es.console.settings import ConsoleSettings, new_token
from tests.console import console

_PATIENCE_S = 60.0


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A console whose heads have a second; static files need no database."""
    monkeypatch.setattr(connections, "HEAD_S", 1.0)
    with console(database_url="postgresql://nobody@127.0.0.1:9/nothing") as url:
        yield url


def connected(url: str, text: bytes = b"") -> socket.socket:
    parts = urlsplit(url)
    assert parts.hostname and parts.port
    made = socket.create_connection((parts.hostname, parts.port), timeout=_PATIENCE_S)
    made.sendall(text)
    return made


def is_closed(by: socket.socket) -> bool:
    """Whether the server closes the connection within the patience."""
    with contextlib.suppress(ConnectionResetError):
        return by.recv(1) == b""
    return True


@pytest.mark.parametrize("begun", [b"", b"GET /runs HTTP/1.1\r\nHost: 127.0.0.1\r\nX-A: "])
def test_a_head_that_does_not_end_in_time_is_closed(served: str, begun: bytes) -> None:
    with connected(served, begun) as slow:
        assert is_closed(slow)


def test_a_head_that_comes_byte_by_byte_has_no_longer(
    served: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with connected(served) as slow:
        until = time.monotonic() + _PATIENCE_S
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            while time.monotonic() < until:
                slow.sendall(b"G")
                time.sleep(0.1)
        assert time.monotonic() < until


def test_the_second_head_of_a_connection_has_the_same_time(served: str) -> None:
    request = b"GET /static/icon.svg HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    with connected(served, request) as kept:
        got = b""
        while b"</svg>" not in got:
            got += kept.recv(65_536)
        kept.sendall(b"GET /")
        assert is_closed(kept)


def test_a_request_that_takes_longer_than_a_head_may_is_answered(served: str) -> None:
    with httpx.Client(base_url=served) as client:
        for _ in range(2):
            assert client.get("/static/icon.svg").status_code == 200
            time.sleep(1.5)


def test_one_address_that_only_connects_keeps_nobody_out(
    served: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "HEAD_S", 600.0)
    with contextlib.ExitStack() as stack:
        begun = b"GET /runs HTTP/1.1\r\n"
        slow = [
            stack.enter_context(connected(served, begun)) for _ in range(MOST_WITHOUT_A_HEAD + 5)
        ]
        for first in slow[:5]:
            assert is_closed(first)
        assert httpx.get(f"{served}/static/icon.svg", timeout=_PATIENCE_S).status_code == 200


def test_a_console_demands_a_token_unless_it_is_told_to_demand_none() -> None:
    url = "postgresql://x"
    tokens = {ConsoleSettings(database_url=url).token for _ in range(2)}
    assert len(tokens) == 2 and None not in tokens


def test_a_ticket_lets_in_once() -> None:
    token, ticket = new_token(), new_token()
    url = "postgresql://nobody@127.0.0.1:9/nothing"
    with console(database_url=url, token=token, ticket=ticket) as served:
        page = f"{served}/runs?token="
        assert httpx.get(f"{served}/runs", timeout=_PATIENCE_S).status_code == 401
        assert httpx.get(f"{page}{ticket}", timeout=_PATIENCE_S).status_code == 303
        assert httpx.get(f"{page}{ticket}", timeout=_PATIENCE_S).status_code == 401
        assert httpx.get(f"{page}{token}", timeout=_PATIENCE_S).status_code == 303
