"""In which passes a run is driven: what may be asked in each, and of which evaluations.

Most runs need one. A run whose judges begin `after_all_answers` needs two: a machine that
holds one model at a time then changes models once, not for every case. A program that hands
evaluations in one by one has a pass that goes on until it says that there are no more.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass

from failproof_es.configuration.schema import Configuration
from failproof_es.evaluation import EvaluationKey
from failproof_es.events import Purpose

EVERYTHING: frozenset[Purpose] = frozenset({"target", "judge"})
ANSWERS: frozenset[Purpose] = frozenset({"target"})
JUDGEMENTS: frozenset[Purpose] = frozenset({"judge"})


class Submissions:
    """Evaluations of a run's plan that another thread hands in while the run is driven.

    Made in the event loop that drives the run. `submit` and `close` may be called from any
    thread; what is submitted after `close` is left for whoever drives the run next.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._waiting: asyncio.Queue[EvaluationKey | None] = asyncio.Queue()

    def submit(self, key: EvaluationKey) -> None:
        """Have the evaluation carried on as far as its pass goes."""
        self._loop.call_soon_threadsafe(self._waiting.put_nowait, key)

    def close(self) -> None:
        """Say that there are no more."""
        self._loop.call_soon_threadsafe(self._waiting.put_nowait, None)

    async def keys(self, stop: asyncio.Event) -> AsyncIterator[EvaluationKey]:
        """Each as it comes, until there are no more or `stop` is set."""
        stopped = asyncio.ensure_future(stop.wait())
        try:
            while not stop.is_set():
                following = asyncio.ensure_future(self._waiting.get())
                await asyncio.wait({following, stopped}, return_when=asyncio.FIRST_COMPLETED)
                if not following.done():
                    following.cancel()
                    return
                if (key := following.result()) is None:
                    return
                yield key
        finally:
            stopped.cancel()


@dataclass(frozen=True, slots=True)
class Phase:
    """One pass: over the whole plan, or over what is submitted."""

    purposes: frozenset[Purpose] = EVERYTHING
    """Whom it asks. An evaluation that needs another asked is left where it stands."""
    submissions: Submissions | None = None


def phases_of(configuration: Configuration) -> tuple[Phase, ...]:
    """The passes over the whole plan that the configuration asks for."""
    if configuration.judging.begins == "after_all_answers":
        return (Phase(ANSWERS), Phase(EVERYTHING))
    return (Phase(EVERYTHING),)
