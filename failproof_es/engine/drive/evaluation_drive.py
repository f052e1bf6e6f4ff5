"""Drives the unfinished evaluations of a run, or of a part of it, phase by phase.

A plain drive and the drive of one shard both are this: they differ in the cases, in the lease under
which events are appended, and in who may stop them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field

from failproof_es.configuration.schema import Configuration
from failproof_es.core.run import Run
from failproof_es.core.sharding.shards import PlanPart
from failproof_es.core.tally import Tally
from failproof_es.dialects import dialect_named
from failproof_es.engine.drive.appender import Appender
from failproof_es.engine.drive.grading.grader import Grader
from failproof_es.engine.drive.interpreter import DeferredTooLong, Halted, Interpreter, OnText
from failproof_es.engine.drive.judging import judging_of
from failproof_es.engine.drive.passes import Phase
from failproof_es.engine.drive.pending import OnBegun, OnCarriedOver, PendingEvaluations
from failproof_es.engine.drive.retrying_reader import RetryingReader
from failproof_es.engine.drive.run_stream import Observe
from failproof_es.engine.drive.targets import Targets
from failproof_es.engine.drive.work_queue import WorkQueue
from failproof_es.engine.history import RecordedEvaluation
from failproof_es.engine.limits.spend_limiter import SpendLimiter
from failproof_es.engine.related_runs.carried_over import ChoosesEndings
from failproof_es.support.plurals import plural

_DRAIN_MARGIN_S = 5.0

CheckBegin = Callable[[RecordedEvaluation], None]
CheckEnd = Callable[[RecordedEvaluation, bool], None]


@dataclass(slots=True)
class Hooks:
    """Who is told of what happens. None of them may raise."""

    observe: Observe
    """Every event, once it is durable."""
    on_text: OnText | None = None
    on_carried_over: OnCarriedOver | None = None
    on_begun: OnBegun | None = None
    check_begin: CheckBegin = lambda recorded: None
    """An evaluation is carried on."""
    check_end: CheckEnd = lambda recorded, finished: None
    """It was carried on as far as it goes now; whether it is finished."""


@dataclass(slots=True)
class EvaluationDrive:
    """The evaluations of some cases of a run. `stop` ends it: requests in flight still end.

    The targets are open. `part` is of its plan, `None` for all of it. `may_send` says,
    before each request, whether it may still be sent: never, once the lease may be another's.
    `turns` has a semaphore for each server, in the order of `targets.by_server`. It is shared by
    drives that go on at once: together they then carry on as many evaluations as one would.
    """

    run: Run
    configuration: Configuration
    targets: Targets
    reader: RetryingReader
    journal: Appender
    hooks: Hooks
    stop: asyncio.Event
    part: PlanPart | None = None
    may_send: Callable[[], bool] = lambda: True
    spending: SpendLimiter | None = None
    """Holds the run below its spend ceiling, if it has one."""
    turns: Sequence[asyncio.Semaphore] | None = None
    reuse: ChoosesEndings | None = None
    """Decides what is carried over, in a run that reuses recorded answers."""
    trouble: BaseException | None = None
    """The first error that ended it."""
    _turned_away: list[DeferredTooLong] = field(default_factory=list)
    """One for each evaluation that is left pending while the others go on."""
    _workers: list[asyncio.Task[None]] = field(default_factory=list)

    async def drive(self, phase: Phase) -> Tally:
        """Run every evaluation as far as the phase goes; return the counts of all."""
        tally = Tally(self._planned())
        self._turned_away.clear()  # a new phase asks them again
        unfinished = PendingEvaluations(
            self.run,
            self.reader,
            self.journal,
            self.hooks.observe,
            tally,
            self.hooks.on_carried_over,
            self.hooks.on_begun,
            self.part,
            self.reuse,
        )
        interpreter = self._interpreter(phase)
        queues = [
            WorkQueue(unfinished.windows(phase, keys, self.stop)) for keys in self.targets.by_server
        ]
        most = min(self.configuration.execution.parallel_workers, max(1, tally.planned))
        self._workers = [
            asyncio.create_task(
                self._work(interpreter, queue, phase, tally, server), name=f"worker-{n}"
            )
            for n in range(most)
            for server, queue in enumerate(queues)
        ]
        try:
            await asyncio.gather(*self._workers, return_exceptions=True)
        finally:
            self.cancel()
            await asyncio.gather(*self._workers, return_exceptions=True)
            for queue in queues:
                await queue.close()
        return tally

    def cancel(self) -> None:
        """End it without waiting for the requests in flight."""
        for worker in self._workers:
            worker.cancel()

    def give_up(self, error: BaseException) -> None:
        """Stop at the first error; requests in flight still end."""
        if self.trouble is None:
            self.trouble = error
        self.stop.set()

    def why(self, *, requested: bool) -> BaseException | None:
        """Why it ended, if neither everything is done nor a stop was `requested`."""
        if self.trouble or not self._turned_away or requested:
            return self.trouble
        unfinished = plural(len(self._turned_away), "evaluation")
        return Halted(f"{unfinished} left unfinished; {self._turned_away[0]}")

    def _planned(self) -> int:
        """The planned evaluations of its part: every piece has as many."""
        manifest = self.run.started
        if self.part is None or not manifest.planned_cases:
            return manifest.planned_evaluations
        pieces = manifest.planned_cases * self.part.of_case
        return manifest.planned_evaluations // pieces * len(self.part.pieces)

    def _interpreter(self, phase: Phase) -> Interpreter:
        manifest = self.run.started
        execution = self.configuration.execution
        return Interpreter(
            grader=Grader(
                dialect_named(manifest.dialect),
                judging_of(manifest),
                execution.retry_attempts,
                manifest.configuration,
            ),
            targets=self.targets.models,
            judges=self.targets.judges,
            journal=self.journal,
            redactor=self.targets.redactor(),
            observe=self.hooks.observe,
            on_text=self.hooks.on_text,
            stop=self.stop,
            retry_delay_ms=execution.retry_delay_ms,
            purposes=phase.purposes,
            may_send=self.may_send,
            spending=self.spending,
        )

    async def _work(
        self, interpreter: Interpreter, queue: WorkQueue, phase: Phase, tally: Tally, server: int
    ) -> None:
        try:
            if self.turns is None:
                turn: asyncio.Semaphore | nullcontext[None] = nullcontext()
            else:
                turn = self.turns[server]
                await queue.look_ahead()  # while the others still have something to do
            async with turn:
                await self._carry_on(interpreter, queue, phase, tally)
        except Exception as error:
            self.give_up(error)

    async def _carry_on(
        self, interpreter: Interpreter, queue: WorkQueue, phase: Phase, tally: Tally
    ) -> None:
        """Carry evaluations on, one after the other, until none is left."""
        while not self.stop.is_set() and (job := await queue.next()) is not None:
            self.hooks.check_begin(job)
            finished = False
            try:
                evaluation = await interpreter.evaluate(job.key, job.case, job.history)
                finished = evaluation.finished
            except DeferredTooLong as error:
                if phase.submissions is not None:
                    raise  # who handed it in waits for it
                self._turned_away.append(error)
                continue
            finally:
                self.hooks.check_end(job, finished)
            if evaluation.finished:
                tally.add(evaluation)


def drain_s(configuration: Configuration) -> float:
    """How long requests in flight may take to end after a stop, in seconds."""
    default_ms = configuration.execution.timeout_per_request_ms
    models = (*configuration.models, *configuration.asked_judges)
    longest_ms = max(default_ms, *(model.timeout_ms or default_ms for model in models))
    return longest_ms / 1000 + _DRAIN_MARGIN_S
