"""Reads a run's pending evaluations from the log, in plan order, ahead of the workers.

A window at a time, so that memory does not grow with the plan.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass

from failproof_es.core.evaluation import EvaluationKey
from failproof_es.core.run import Run
from failproof_es.core.sharding.shards import PlanPart
from failproof_es.core.tally import Tally
from failproof_es.engine.drive.appender import Appender
from failproof_es.engine.drive.passes import DrivePass
from failproof_es.engine.drive.retrying_reader import RetryingReader
from failproof_es.engine.drive.run_stream import Observe
from failproof_es.engine.history import (
    WINDOW,
    Connection,
    RecordedEvaluation,
    read_evaluations,
    split_by_size,
)
from failproof_es.engine.related_runs.carried_over import ChoosesEndings, carry_over
from failproof_es.engine.unfinished import UnfinishedPart, read_unfinished, read_unfinished_part

StartedKeys = frozenset[EvaluationKey]
"""The keys of evaluations that may have events. Only this process writes the streams of the others,
and only after it has read them here."""
Portion = tuple[list[EvaluationKey], StartedKeys]
Windows = AsyncGenerator[list[RecordedEvaluation]]
OnCarriedOver = Callable[[RecordedEvaluation], None]
"""Called with each evaluation that a branched run carries over, once that is recorded. Must not
raise."""


OnContinued = Callable[[RecordedEvaluation], None]
"""Called with each unfinished evaluation that had begun in an earlier drive, as work on it
continues. Must not raise."""


@dataclass(frozen=True, slots=True)
class PendingEvaluations:
    """Reads the unfinished evaluations of a run.

    Finished ones are counted in the tally. An evaluation that a branched run carries over is
    recorded here, too.
    """

    run: Run
    reader: RetryingReader
    journal: Appender
    observe: Observe
    tally: Tally
    on_carried_over: OnCarriedOver | None = None
    on_continued: OnContinued | None = None
    part: PlanPart | None = None
    """The part of the plan whose evaluations these are; `None` for all."""
    reuse: ChoosesEndings | None = None
    """Decides which answers are carried over, in a run that reuses recorded answers."""

    async def windows(
        self, drive_pass: DrivePass, models: Sequence[str], stop: asyncio.Event
    ) -> Windows:
        """The pending evaluations of these models in plan order, in windows of bounded size, which
        may be empty. In a pass with submitted evaluations, each arrives in a window of its own,
        until `stop` is set."""
        if drive_pass.submissions is None:
            windows = self._read_ahead(models)
        else:
            windows = self._submitted(drive_pass.submissions.keys(models, stop))
        async with contextlib.aclosing(windows):
            async for window in windows:
                yield await self._pending(window)

    async def _pending(self, window: list[RecordedEvaluation]) -> list[RecordedEvaluation]:
        unfinished = []
        for recorded in await self._with_carried_over(window):
            state = recorded.state()
            if state.finished:
                self.tally.add(state)
            else:
                unfinished.append(recorded)
                if recorded.history and self.on_continued is not None:
                    self.on_continued(recorded)
        return unfinished

    async def _with_carried_over(
        self, window: list[RecordedEvaluation]
    ) -> list[RecordedEvaluation]:
        """The window with its carried-over evaluations as they are after this call.

        Records which of its evaluations a branched run carries over; unchanged if it carries over
        none.
        """
        branch = self.run.started.branched_from
        keys = [recorded.key for recorded in window if not recorded.history]
        if branch is None or not keys:
            return window
        events = await self.reader.read(carry_over, branch, keys, self.reuse)
        if not events:
            return window
        await self.journal.append(*events)
        for event in events:
            self.observe(event)
        evaluations = await self.reader.read(
            read_evaluations, [recorded.key for recorded in window]
        )
        if self.on_carried_over is not None:
            carried_ids = {event.originator_id for event in events}
            for recorded in evaluations:
                if recorded.key.evaluation_id in carried_ids:
                    self.on_carried_over(recorded)
        return evaluations

    async def _read_ahead(self, models: Sequence[str]) -> Windows:
        """The evaluations of these models that are planned and not known to be finished, in
        windows. The next window is read while the last one is processed."""
        ahead: asyncio.Task[list[RecordedEvaluation]] | None = None
        try:
            async for keys, started_keys in self._planned_keys(models):
                reading = self.reader.read(read_evaluations, keys, started_keys=started_keys)
                window, ahead = ahead, asyncio.create_task(reading)
                if window is not None:
                    yield await window
            if ahead is not None:
                yield await ahead
        finally:
            if ahead is not None:
                ahead.cancel()

    async def _planned_keys(self, models: Sequence[str]) -> AsyncGenerator[Portion]:
        async for unfinished in self._unfinished(models):
            self.tally.scored += unfinished.scored
            self.tally.abandoned += unfinished.abandoned
            for first in range(0, len(unfinished.keys), WINDOW):
                window = unfinished.keys[first : first + WINDOW]
                started_keys = unfinished.started_keys and unfinished.started_keys.intersection(
                    window
                )
                for portion in await self.reader.read(_split_portions, window, started_keys):
                    yield portion, started_keys

    async def _unfinished(self, models: Sequence[str]) -> AsyncGenerator[UnfinishedPart]:
        if self.part is not None:
            yield await self.reader.read(read_unfinished_part, self.run, self.part, models)
            return
        chunk = 0
        while chunk < self.run.chunks:
            unfinished = await self.reader.read(read_unfinished, self.run, chunk, models)
            chunk = unfinished.next_chunk
            yield unfinished

    async def _submitted(self, keys: AsyncGenerator[EvaluationKey]) -> Windows:
        async with contextlib.aclosing(keys):
            async for key in keys:
                yield await self.reader.read(read_evaluations, [key])


def _split_portions(
    connection: Connection, keys: list[EvaluationKey], started_keys: StartedKeys
) -> list[list[EvaluationKey]]:
    return list(split_by_size(connection, keys, started_keys))
