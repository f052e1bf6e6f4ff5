"""A test of this folder starts no process, opens no listening socket and connects to nothing.

What the product does in a child process with limits is done here as in such a child.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.process import BaseProcess
from typing import Any

import pytest
from psycopg._connection_base import BaseConnection

from failproof_es.support.bounded import messages

_FORBIDDEN = frozenset({
    "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.system", "subprocess.Popen",
    "socket.bind", "socket.connect", "multiprocessing.Process", "psycopg.connect",
})  # fmt: skip
"""Audit events of the interpreter (https://docs.python.org/3/library/audit_events.html), and two of
this module."""

_violations: list[str] | None = None
"""Forbidden events of the phase of a unit test that runs now, `None` while none runs."""

_earlier_threads: frozenset[int] = frozenset()
"""Threads that began before that phase: a server of a session's, for other folders."""


def _audit(event: str, _: tuple[Any, ...]) -> None:
    if _violations is None or event not in _FORBIDDEN:
        return
    if threading.get_ident() not in _earlier_threads:
        _violations.append(event)
        pytest.fail(f"{event} in tests/unit: move this test to tests/integration")


sys.addaudithook(_audit)


# Two ways out have no audit event: libpq connects outside of the interpreter, and processes of
# `multiprocessing` begin below `subprocess`. Each passes through one method.
_connect: Any = BaseConnection.__dict__["_connect_gen"].__func__
_start = BaseProcess.start


def _watched_connect(cls: Any, *args: Any, **kwargs: Any) -> Any:
    _audit("psycopg.connect", args)
    return _connect(cls, *args, **kwargs)


def _watched_start(self: BaseProcess) -> None:
    _audit("multiprocessing.Process", ())
    _start(self)


BaseConnection._connect_gen = classmethod(_watched_connect)  # type: ignore[assignment,method-assign]
BaseProcess.start = _watched_start  # type: ignore[method-assign]


@contextmanager
def isolated() -> Iterator[list[str]]:
    """Fail on a forbidden event within, also if the code under test swallowed the failure.

    Yields the events so far.
    """
    global _violations, _earlier_threads
    outer = _violations, _earlier_threads
    alive = {thread.ident for thread in threading.enumerate() if thread.ident is not None}
    _violations, _earlier_threads = [], frozenset(alive - {threading.get_ident()})
    messages.declare_bounded()
    try:
        yield _violations
        if _violations:
            pytest.fail(f"{', '.join(_violations)} in tests/unit: move this test")
    finally:
        _violations, _earlier_threads = outer
        if outer[0] is None:
            messages._IS_BOUNDED.clear()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup() -> Iterator[None]:
    """Watch the fixtures of a test, those of its module and session too."""
    with isolated():
        yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Iterator[None]:
    """Watch the test itself."""
    with isolated():
        yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> Iterator[None]:
    """Watch the end of fixtures, but for the end of a session: it stops what other folders used."""
    if nextitem is None:
        yield
        return
    with isolated():
        yield
