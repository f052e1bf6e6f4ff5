"""A unit test that starts a process, listens or connects fails, whatever becomes of its error."""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable

import psycopg
import pytest

from tests.unit.conftest import isolated

NOWHERE = "postgresql://127.0.0.1:1/none"


def popen() -> None:
    subprocess.run([sys.executable, "-c", ""], check=True)


def spawn() -> None:
    multiprocessing.get_context("spawn").Process(target=print).start()


def posix_spawn() -> None:
    os.posix_spawn(sys.executable, [sys.executable, "-c", ""], {})


async def listen() -> None:
    await asyncio.start_server(lambda _reader, _writer: None, "127.0.0.1", 0)


def connect() -> None:
    with socket.socket() as client:
        client.connect(("127.0.0.1", 1))


async def open_connection() -> None:
    await psycopg.AsyncConnection.connect(NOWHERE)


FORBIDDEN: dict[str, Callable[[], object]] = {
    "subprocess": popen,
    "fork": os.fork,
    "multiprocessing": spawn,
    "posix_spawn": posix_spawn,
    "shell": lambda: os.system("true"),
    "listen": lambda: asyncio.run(listen()),
    "connect": connect,
    "database": lambda: psycopg.connect(NOWHERE),
    "asynchronous database": lambda: asyncio.run(open_connection()),
}


@pytest.mark.parametrize("name", FORBIDDEN)
def test_a_forbidden_call_fails_before_anything_starts(name: str) -> None:
    with pytest.raises(pytest.fail.Exception, match="tests/integration"), isolated() as events:
        try:
            FORBIDDEN[name]()
        finally:
            assert len(events) == 1


def swallowing() -> None:
    with contextlib.suppress(BaseException):
        popen()


@pytest.mark.parametrize("in_thread", [False, True])
def test_an_error_that_is_swallowed_fails_the_test_at_its_end(in_thread: bool) -> None:
    with pytest.raises(pytest.fail.Exception, match=r"subprocess\.Popen in tests/unit"), isolated():
        if in_thread:
            thread = threading.Thread(target=swallowing)
            thread.start()
            thread.join()
        else:
            swallowing()


def test_a_forbidden_call_outside_of_a_unit_test_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.unit.conftest._violations", None)
    popen()


def test_a_thread_that_began_before_the_test_is_no_part_of_it() -> None:
    begin = threading.Event()

    def listen_later() -> None:
        begin.wait(20)
        with socket.socket() as server:
            server.bind(("127.0.0.1", 0))

    thread = threading.Thread(target=listen_later)
    thread.start()
    with isolated() as events:
        begin.set()
        thread.join()
    assert events == []
