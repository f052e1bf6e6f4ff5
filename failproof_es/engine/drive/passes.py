"""The passes of a drive: which evaluations each pass takes, and what it may ask.

Most runs need one. A run whose judges begin `after_all_answers` needs two: a machine that
holds one model at a time then changes models once, not for every case. A program that submits
evaluations one by one has a pass that lasts until the program closes it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from itertools import count

from failproof_es.configuration.schema import Configuration
from failproof_es.core.evaluation import EvaluationKey
from failproof_es.events import Purpose

EVERYTHING: frozenset[Purpose] = frozenset({"target", "judge"})
ANSWERS: frozenset[Purpose] = frozenset({"target"})
JUDGEMENTS: frozenset[Purpose] = frozenset({"judge"})


class Submissions:
    """Evaluations of a run's plan that another thread submits while the run is driven.

    Created in the event loop that drives the run. `submit` and `close` may be called from any
    thread; evaluations submitted after `close` are left for the next drive.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._order = count()
        self._waiting: dict[str, deque[tuple[int, EvaluationKey]]] = {}
        self._closed = False
        self._news = self._loop.create_future()

    def submit(self, key: EvaluationKey) -> None:
        """Submit an evaluation, to be driven as far as its pass goes. Ignored after `close`."""
        self._loop.call_soon_threadsafe(self._add, key)

    def close(self) -> None:
        """Declare that no more evaluations will be submitted."""
        self._loop.call_soon_threadsafe(self._mark_closed)

    async def keys(
        self, models: Sequence[str], stop: asyncio.Event
    ) -> AsyncGenerator[EvaluationKey]:
        """Submitted evaluations of these models in the order of submission, as they arrive.

        Ends when `stop` is set, or after `close` when no evaluation of these models is left.
        """
        stopped = asyncio.ensure_future(stop.wait())
        try:
            while not stop.is_set():
                if key := self._take_first(models):
                    yield key
                elif self._closed:
                    return
                else:
                    await asyncio.wait({self._news, stopped}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopped.cancel()

    def _take_first(self, models: Sequence[str]) -> EvaluationKey | None:
        waiting = [queue for model in models if (queue := self._waiting.get(model))]
        return min(waiting, key=lambda queue: queue[0][0]).popleft()[1] if waiting else None

    def _add(self, key: EvaluationKey) -> None:
        if not self._closed:
            self._waiting.setdefault(key.model_key, deque()).append((next(self._order), key))
            self._notify()

    def _mark_closed(self) -> None:
        self._closed = True
        self._notify()

    def _notify(self) -> None:
        self._news.set_result(None)
        self._news = self._loop.create_future()


@dataclass(frozen=True, slots=True)
class DrivePass:
    """One pass, over the whole plan or over submitted evaluations."""

    purposes: frozenset[Purpose] = EVERYTHING
    """The purposes of its requests. An evaluation that needs another purpose stays pending."""
    submissions: Submissions | None = None


def passes_of(configuration: Configuration) -> tuple[DrivePass, ...]:
    """The passes over the whole plan, in order: first all answers, then all judgements, if the
    configuration says that judging begins after all answers; else one pass."""
    if configuration.judging.begins == "after_all_answers":
        return (DrivePass(ANSWERS), DrivePass(EVERYTHING))
    return (DrivePass(EVERYTHING),)
