"""How a long-lived process tells supervisors that it works."""

from __future__ import annotations

import asyncio
import os
import socket
from pathlib import Path

import pytest

from failproof_es.cli.app import alive
from failproof_es.problems import InvalidInput


def told(file: Path | None, seconds: float = 0.05) -> None:
    async def work() -> None:
        async with alive.told_alive(file):
            await asyncio.sleep(seconds)

    asyncio.run(work())


@pytest.fixture
def notified(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> socket.socket:
    """The socket on which a service manager listens."""
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    listening.bind(str(tmp_path / "notify"))
    listening.setblocking(False)
    monkeypatch.setenv(alive.NOTIFY_SOCKET, str(tmp_path / "notify"))
    return listening


def test_systemd_hears_that_it_is_ready_works_and_stops(
    notified: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(alive, "EVERY_S", 0.01)
    with notified:
        told(None)
        heard = []
        while True:
            try:
                heard.append(notified.recv(100))
            except BlockingIOError:
                break
    assert (heard[0], heard[-1]) == (b"READY=1", b"STOPPING=1")
    assert len(heard) > 3
    assert set(heard[1:-1]) == {b"WATCHDOG=1"}


def test_a_service_manager_that_is_gone_stops_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(alive.NOTIFY_SOCKET, str(tmp_path / "nobody"))
    told(None)


def test_the_file_is_touched_again_and_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(alive, "EVERY_S", 0.01)
    file = tmp_path / "alive"

    async def work() -> None:
        async with alive.told_alive(file):
            os.utime(file, (0, 0))
            await asyncio.sleep(0.2)
            assert file.stat().st_mtime > 0

    asyncio.run(work())


def test_a_file_that_cannot_be_touched_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="--alive-file"):
        told(tmp_path / "missing" / "alive")
