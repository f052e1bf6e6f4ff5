"""Downloads that are taken slowly, left half-way or broken off: pages go on beside them."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from failproof_es.console import database, routes
from failproof_es.console.database import ConsoleBusy, ReadOnlyDatabase
from failproof_es.console.sending.ahead import IN_MEMORY, PIECE, ReadAhead
from tests.console import console, settings_for

WHOLE = 16 * 2**20
"""Bytes of a list: more than all buffers between hold."""


def test_it_is_read_to_its_end_while_nobody_takes_it_and_given_back_once() -> None:
    size, closed = PIECE // 2 + 1, threading.Event()
    pieces = [chr(ord("a") + n) * size for n in range(2 * IN_MEMORY + 5)]
    ahead = ReadAhead(iter(pieces), closed.set)
    assert closed.wait(30)
    told = b""
    while piece := ahead.take():
        assert len(piece) <= PIECE
        told += piece
    assert told == "".join(pieces).encode()
    assert ahead.take() == b""


def test_what_is_taken_between_comes_in_order_from_memory_and_from_the_file() -> None:
    gates = [threading.Semaphore(0) for _ in range(4)]

    def slowly() -> Iterator[str]:
        for n, gate in enumerate(gates):
            gate.acquire()
            for m in range(2 * IN_MEMORY):
                yield f"{n}.{m};".ljust(PIECE, ".")
            yield f"end {n};"

    ahead, told = ReadAhead(slowly(), lambda: None), bytearray()
    for n, gate in enumerate(gates):
        gate.release()
        while not told.endswith(f"end {n};".encode()):
            told += ahead.take()
    assert ahead.take() == b""
    wanted = [f"{n}.{m};".ljust(PIECE, ".") for n in range(4) for m in range(2 * IN_MEMORY)]
    for n in range(4):
        wanted.insert((n + 1) * 2 * IN_MEMORY + n, f"end {n};")
    assert told == "".join(wanted).encode()


def test_what_breaks_is_told_after_all_that_came_before_it() -> None:
    def breaking() -> Iterator[str]:
        yield "first"
        raise ValueError("broken")

    ahead = ReadAhead(breaking(), lambda: None)
    assert ahead.take() == b"first"
    with pytest.raises(ValueError, match="broken"):
        ahead.take()


def test_who_leaves_stops_the_reader() -> None:
    closed, taken = threading.Event(), threading.Semaphore(0)

    def endless() -> Iterator[str]:
        while True:
            taken.release()
            yield "x" * 1_000

    ahead = ReadAhead(endless(), closed.set)
    taken.acquire()
    ahead.leave()
    assert closed.wait(30)
    assert ahead.take() == b""


@pytest.fixture
def long_list(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Every list is sent over and over; yields how many of them were read to their end."""
    ended: list[int] = []
    write = routes._json_lines

    def often(row: type[Any], rows: Iterator[Any]) -> Iterator[str]:
        whole = "".join(write(row, rows))
        for _ in range(WHOLE // len(whole)):
            yield whole
        ended.append(1)

    monkeypatch.setattr(routes, "_json_lines", often)
    return ended


@contextlib.contextmanager
def taking_slowly(url: str, path: str) -> Iterator[socket.socket]:
    """A client that asks, and takes one byte."""
    address = urlsplit(url)
    assert address.hostname and address.port
    with socket.create_connection((address.hostname, address.port)) as client:
        client.settimeout(30)
        client.sendall(f"GET {path} HTTP/1.1\r\nHost: {address.netloc}\r\n\r\n".encode())
        assert client.recv(1) == b"H"
        yield client


@pytest.mark.slow
def test_pages_come_while_downloads_are_taken_byte_by_byte_and_no_connection_waits(
    console_log: str, long_list: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(routes, "MOST_DOWNLOADS", 5)
    path = "/runs/1/results.jsonl"
    with console(connections=2, **settings_for(console_log)) as url, contextlib.ExitStack() as slow:
        clients = [slow.enter_context(taking_slowly(url, path)) for _ in range(5)]
        deadline = time.monotonic() + 60
        while len(long_list) < 5:  # all were read to their end, and nobody took them
            assert time.monotonic() < deadline
            time.sleep(0.05)
        for each in clients:
            assert each.recv(1) == b"T"
        for page in ("/runs", "/runs/1", "/runs/1/results", "/runs/1.json"):
            assert httpx.get(url + page, timeout=20).status_code == 200
        sixth = httpx.get(url + path, timeout=20)
        assert sixth.status_code == 503 and sixth.headers["retry-after"] == "5"
        assert httpx.get(url + "/runs.csv", timeout=20).status_code == 503
        for each in clients:
            each.close()
        while (again := httpx.head(url + path, timeout=20)).status_code == 503:
            assert time.monotonic() < deadline
        assert (again.status_code, again.content) == (200, b"")
        whole = httpx.get(url + path, timeout=60)
        assert whole.status_code == 200 and len(whole.content) > WHOLE // 2
    assert len(long_list) == 6  # what is asked with HEAD is not read


def test_long_readers_leave_half_of_the_connections(
    console_log: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "WAIT_S", 0.05)
    opened = ReadOnlyDatabase(console_log, connections=4, statement_timeout_s=10)
    with opened.long(), opened.long():
        with pytest.raises(ConsoleBusy), opened.long():
            pass
        with opened.snapshot(), opened.snapshot() as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
    opened.close()
