"""One run, driven in the engine's thread: answers as they are submitted, then judgements."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from typing import Protocol
from uuid import UUID

from failproof_es.abstraction.implementation.dispatcher import logger
from failproof_es.abstraction.implementation.engine_loop import EngineLoop
from failproof_es.core.evaluation import EvaluationKey
from failproof_es.engine.drive.passes import ANSWERS, JUDGEMENTS, Phase, Submissions
from failproof_es.engine.drive_outcome import Outcome
from failproof_es.engine.lifecycle import resume
from failproof_es.events import Event, RequestSent
from failproof_es.events.base import ENDED
from failproof_es.store.store import Store
from failproof_es.store.writing.lease import HeldLease


class Watcher(Protocol):
    """Who is told what happens, in the engine's thread. Nothing here may raise or block."""

    def on_event(self, event: Event) -> None:
        """An event, once it is durable."""

    def on_text(self, key: EvaluationKey, request: RequestSent, text: str) -> None:
        """A piece of an answer as it comes."""

    def on_end(self, error: str | None) -> None:
        """The drive is over. `error` says why before everything was done."""


class RunDrive:
    """Drives a run that is on record, until it is ended, stopped, or in trouble.

    Answers are got for what is submitted. `judge` says that there are no more: what waits
    for its judgement is judged, and the run is ended where nothing is left.
    """

    def __init__(self, store: Store, loop: EngineLoop, run_id: UUID, watcher: Watcher) -> None:
        self._store = store
        self._run_id = run_id
        self._watcher = watcher
        self._stop, self._submissions, self._wake = loop.run(_signals())
        self._lease: Future[HeldLease | None] = Future()
        self._driving: Future[None] = loop.begin(self._drive())

    def submit(self, key: EvaluationKey) -> None:
        """Get the answer of this evaluation."""
        self._submissions.submit(key)

    def judge(self) -> None:
        """Judge what is answered once all that was submitted is."""
        self._submissions.close()

    def lease(self) -> HeldLease | None:
        """The lease under which the run is driven, once it is; `None` when it was not.

        Not in the engine's thread.
        """
        return self._lease.result()

    def finish(self) -> None:
        """The same as `judge`, and wait for the end. Not in the engine's thread."""
        self.judge()
        self._driving.result()

    def stop(self) -> None:
        """Let what is in flight end, and wait for it. Not in the engine's thread."""
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
                phases=(Phase(ANSWERS, self._submissions), Phase(JUDGEMENTS)),
                leased=self._lease.set_result,
            )
            error = _trouble(outcome)
        except Exception as trouble:  # whatever it is, those who wait must hear of it
            logger.exception("run %s could not be driven on", self._run_id)
            error = str(trouble)
        if not self._lease.done():
            self._lease.set_result(None)
        self._watcher.on_end(error)


def _trouble(outcome: Outcome) -> str | None:
    if outcome.status in ENDED:
        return None
    return f"run {outcome.run_number} is {outcome.status}: {outcome.reason}"


Wake = Callable[[Callable[[], None]], object]


async def _signals() -> tuple[asyncio.Event, Submissions, Wake]:
    """What belongs to the loop that it is made in, and how to reach that from elsewhere."""
    return asyncio.Event(), Submissions(), asyncio.get_running_loop().call_soon_threadsafe
