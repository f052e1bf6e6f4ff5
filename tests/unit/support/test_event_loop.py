"""Which event loop commands run in."""

from __future__ import annotations

import asyncio
import sys

import pytest

from failproof_es.support import event_loop


async def kind_of_loop() -> str:
    return type(asyncio.get_running_loop()).__module__.partition(".")[0]


def test_it_is_uvloop_where_that_is_installed() -> None:
    pytest.importorskip("uvloop", reason="no wheels of uvloop for this platform")
    assert event_loop.run(kind_of_loop()) == "uvloop"


def test_it_is_asyncio_where_uvloop_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvloop", None)
    assert event_loop.run(kind_of_loop()) == "asyncio"
