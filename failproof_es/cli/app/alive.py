"""Tells a supervisor that a long-lived process works: systemd by its socket, others by a file.

Both are told from the event loop, so that a process whose loop hangs is found, and both only while
the process works. Nothing is said of the database: an outage is no reason to begin anew.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import AsyncIterator
from pathlib import Path

from failproof_es.problems import InvalidInput

EVERY_S = 5.0
NOTIFY_SOCKET = "NOTIFY_SOCKET"


@contextlib.asynccontextmanager
async def told_alive(file: Path | None) -> AsyncIterator[None]:
    """Tell it every 5 seconds until this is left: touch `file`, and tell systemd if it listens.

    Raises `InvalidInput` where the file cannot be touched at first.
    """
    try:
        _touch(file)
    except OSError as error:
        raise InvalidInput.because(
            f"{file} cannot be touched: {error.strerror}", remedy="name another --alive-file"
        ) from None
    _tell_systemd("READY=1")
    telling = asyncio.create_task(_keep_telling(file), name="alive")
    try:
        yield
    finally:
        telling.cancel()
        _tell_systemd("STOPPING=1")


async def _keep_telling(file: Path | None) -> None:
    while True:
        with contextlib.suppress(OSError):  # a full disk: whoever looks finds the file old
            _touch(file)
        _tell_systemd("WATCHDOG=1")
        await asyncio.sleep(EVERY_S)


def _touch(file: Path | None) -> None:
    if file is not None:
        file.touch()


def _tell_systemd(state: str) -> None:
    """Send a state to the service manager, if this is one of its services (`sd_notify`)."""
    address = os.environ.get(NOTIFY_SOCKET)
    if not address:
        return
    if address.startswith("@"):
        address = "\0" + address[1:]
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sending:
        sending.sendto(state.encode(), address)
