"""A process that was told to stop says what it still waits for."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import nullcontext
from typing import Any

import pytest

from failproof_es.cli.app import stopping
from failproof_es.cli.app.stopping import until_stopped


def test_a_stop_that_takes_long_is_said_again_and_not_after_its_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said: list[str] = []
    reminded = asyncio.Event()

    def say(line: str) -> None:
        said.append(line)
        if len(said) == 3:
            reminded.set()

    monkeypatch.setattr(stopping, "say", say)
    monkeypatch.setattr(stopping, "REMINDED_S", 0.05)

    async def drive(*, stop: asyncio.Event, **_: Any) -> Any:
        os.kill(os.getpid(), signal.SIGINT)
        await stop.wait()
        await reminded.wait()  # the log is away
        return None

    async def main() -> None:
        await until_stopped(drive, lambda event: None, nullcontext(), lambda: "1")
        lines = len(said)
        await asyncio.sleep(0.2)
        assert len(said) == lines

    asyncio.run(main())
    assert said[0].startswith("stopping after the requests in flight")
    assert "or for the log" in said[1] and said[1] == said[2]
