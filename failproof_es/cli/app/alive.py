"""Tells a supervisor that a long-lived process works: systemd by its socket, others by a file.

Both are told from the event loop, so that a process whose loop hangs is detected, and both only
while the process works. The state of the database is not told: an outage is no reason to restart.
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
    """Report every 5 seconds within this context that the process works.

    The report touches `file`, if there is one, and tells systemd if it listens. Raises
    `InvalidInput` if the first touch of the file fails.
    """
    try:
        _touch_file(file)
    except OSError as error:
        raise InvalidInput.because(
            "file-unwritable",
            f"{file} cannot be touched: {error.strerror}",
            remedy="name another --alive-file",
        ) from None
    _tell_systemd("READY=1")
    telling = asyncio.create_task(_report_alive(file), name="alive")
    try:
        yield
    finally:
        telling.cancel()
        _tell_systemd("STOPPING=1")


async def _report_alive(file: Path | None) -> None:
    while True:
        with contextlib.suppress(OSError):  # a full disk: the supervisor sees an old file
            _touch_file(file)
        _tell_systemd("WATCHDOG=1")
        await asyncio.sleep(EVERY_S)


def _touch_file(file: Path | None) -> None:
    if file is not None:
        file.touch()


def _tell_systemd(state: str) -> None:
    """Send a state to the service manager if it started this process (`sd_notify`)."""
    address = os.environ.get(NOTIFY_SOCKET)
    if not address:
        return
    if address.startswith("@"):
        address = "\0" + address[1:]
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sending:
        sending.sendto(state.encode(), address)
