"""Drives a run until it ends or a signal stops it."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Coroutine
from contextlib import AbstractContextManager
from typing import Any

from failproof_es.cli.app.errors import ExitCode
from failproof_es.cli.app.process import termination_signals
from failproof_es.cli.rendering.output import say
from failproof_es.engine.drive_outcome import Outcome
from failproof_es.events import Event

REMINDED_S = 15.0
"""Seconds between reminders of the work that a stopping process still waits for."""


Drive = Callable[..., Coroutine[Any, Any, Outcome]]
"""Starts or resumes a run and drives it to its outcome; it is called with `observe`, which takes
each event, with `stop`, an event that asks it to stop, and with `say`, which takes messages."""


async def until_stopped(
    drive: Drive,
    observe: Callable[[Event], None],
    progress: AbstractContextManager[object],
    run_told: Callable[[], str | None],
) -> Outcome:
    """Drive the run to its outcome. The first signal asks it to stop, the second ends the process.

    `observe` is called with each event. `progress` is entered meanwhile. `run_told` returns the
    run's name for hints, `None` while it is unknown.
    """
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    reminders: list[asyncio.TimerHandle] = []

    def on_signal() -> None:
        if stop.is_set():
            progress.__exit__(None, None, None)
            run = run_told()
            goes_on = f": `failproof-es resume {run}` goes on" if run else ""
            say(f"stopped at once; what is recorded stays{goes_on}")
            os._exit(ExitCode.INTERRUPTED)
        stop.set()
        say("stopping after the requests in flight; press again to stop at once")
        reminders.append(loop.call_later(REMINDED_S, remind))

    def remind() -> None:
        say("still waiting for answers in flight, or for the log; press again to stop at once")
        reminders.append(loop.call_later(REMINDED_S, remind))

    heard = [signal.SIGINT, *termination_signals()]
    for number in heard:
        loop.add_signal_handler(number, on_signal)
    try:
        with progress:
            return await drive(observe=observe, stop=stop, say=say)
    finally:
        for number in heard:
            loop.remove_signal_handler(number)
        for reminder in reminders:
            reminder.cancel()
