"""Drives one run in the engine's thread: submitted evaluations first, then judgements."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from typing import Protocol
from uuid import UUID

from failproof_es.abstraction.implementation.dispatcher import logger
from failproof_es.abstraction.implementation.engine_loop import EngineLoop
from failproof_es.core.evaluation import EvaluationKey
from failproof_es.engine.drive.passes import ANSWERS, JUDGEMENTS, DrivePass, Submissions
from failproof_es.engine.drive_outcome import Outcome
from failproof_es.engine.lifecycle import resume
from failproof_es.events import Event, RequestSent
from failproof_es.events.base import ENDED
from failproof_es.store.store import Store
from failproof_es.store.writing.lease import HeldLease


class Watcher(Protocol):
    """Receiver of a run's events, in the engine's thread. Its methods must not raise or block."""

    def on_event(self, event: Event) -> None:
        """Called with each event once the event is durable."""

    def on_text(self, key: EvaluationKey, request: RequestSent, text: str) -> None:
        """Called with each piece of a streamed answer: `text`, and the request that it answers."""

    def on_end(self, error: str | None) -> None:
        """Called once, last: with `None` if the run has ended, else with the reason why not."""


class RunDrive:
    """Executes ("drives") a recorded run in the engine's thread until it ends, is stopped or fails.

    It asks for the answers of submitted evaluations. `judge` closes the submissions: then every
    waiting answer is judged, and the run ends if nothing is left to do.
    """

    def __init__(self, store: Store, loop: EngineLoop, run_id: UUID, watcher: Watcher) -> None:
        self._store = store
        self._run_id = run_id
        self._watcher = watcher
        self._stop, self._submissions, self._wake = loop.run(_create_signals())
        self._lease: Future[HeldLease | None] = Future()
        self._driving: Future[None] = loop.begin(self._drive())

    def submit(self, key: EvaluationKey) -> None:
        """Have the model of an evaluation asked for its answer."""
        self._submissions.submit(key)

    def judge(self) -> None:
        """Close the submissions; the judging begins once all of them are answered."""
        self._submissions.close()

    def lease(self) -> HeldLease | None:
        """The lease of the executed run; `None` if the execution ended before it had one.

        Blocks until that is known. Must not be called in the engine's thread.
        """
        return self._lease.result()

    def finish(self) -> None:
        """Call `judge` and wait until the execution is over.

        Must not be called in the engine's thread.
        """
        self.judge()
        self._driving.result()

    def stop(self) -> None:
        """Stop the run after the requests in flight, and wait for that. The run can be resumed.

        Must not be called in the engine's thread.
        """
        self._wake(self._stop.set)
        self._driving.result()

    async def _drive(self) -> None:
        error: str | None
        try:
            outcome = await resume(
                self._run_id,
                self._store,
                observe=self._watcher.on_event,
                on_text=self._watcher.on_text,
                stop=self._stop,
                say=logger.info,
                passes=(DrivePass(ANSWERS, self._submissions), DrivePass(JUDGEMENTS)),
                leased=self._lease.set_result,
            )
            error = _describe_incomplete(outcome)
        except (
            Exception
        ) as trouble:  # of any kind: `on_end` must be called, else callers wait forever
            logger.exception("run %s could not be driven on", self._run_id)
            error = str(trouble)
        if not self._lease.done():
            self._lease.set_result(None)
        self._watcher.on_end(error)


def _describe_incomplete(outcome: Outcome) -> str | None:
    if outcome.status in ENDED:
        return None
    return f"run {outcome.run_number} is {outcome.status}: {outcome.reason}"


Wake = Callable[[Callable[[], None]], object]


async def _create_signals() -> tuple[asyncio.Event, Submissions, Wake]:
    """A stop event, submissions, and `call_soon_threadsafe` of the running loop."""
    return asyncio.Event(), Submissions(), asyncio.get_running_loop().call_soon_threadsafe
