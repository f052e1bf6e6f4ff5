"""Drives the unfinished evaluations of a run, or of a part of it, pass by pass.

Drives a whole run as well as one shard. The two differ in the cases, in the lease under which
events are appended, and in who may stop the drive.
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
from failproof_es.engine.drive.passes import DrivePass
from failproof_es.engine.drive.pending import OnCarriedOver, OnContinued, PendingEvaluations
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
    """The callbacks of a drive. None of them may raise; `None` means that nobody wants the call."""

    observe: Observe
    """Called with every event, once it is durable."""
    on_text: OnText | None = None
    on_carried_over: OnCarriedOver | None = None
    on_continued: OnContinued | None = None
    check_begin: CheckBegin = lambda recorded: None
    """Called when work on an evaluation begins or continues."""
    check_end: CheckEnd = lambda recorded, finished: None
    """Called when work on an evaluation stops, with whether the evaluation is finished."""


@dataclass(slots=True)
class EvaluationDrive:
    """Drives the evaluations of a run, or of a part of its plan, until they end or `stop` is set.

    Requests in flight still end after a stop. The targets must be open. `part` is the part of the
    plan, `None` for all of it. `may_send` says before each request whether it may be sent: false
    once another process may hold the lease.

    `turns` has a semaphore for each server, in the order of `targets.by_server`. Concurrent drives
    share the semaphores, so that together they work on as many evaluations as one drive would.
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
    """Decides which answers are carried over, in a run that reuses recorded answers."""
    trouble: BaseException | None = None
    """The first error that ended the drive."""
    _turned_away: list[DeferredTooLong] = field(default_factory=list)
    """The errors of evaluations that are left pending while the others go on."""
    _workers: list[asyncio.Task[None]] = field(default_factory=list)

    async def drive(self, drive_pass: DrivePass) -> Tally:
        """Take every unfinished evaluation as far as the pass goes, or until `stop` is set.

        Returns the numbers of planned, scored and abandoned evaluations. An error does not raise:
        `why` returns it.
        """
        tally = Tally(self._count_planned())
        self._turned_away.clear()  # a new pass tries them again
        unfinished = PendingEvaluations(
            self.run,
            self.reader,
            self.journal,
            self.hooks.observe,
            tally,
            self.hooks.on_carried_over,
            self.hooks.on_continued,
            self.part,
            self.reuse,
        )
        interpreter = self._interpreter(drive_pass)
        queues = [
            WorkQueue(unfinished.windows(drive_pass, keys, self.stop))
            for keys in self.targets.by_server
        ]
        most = min(self.configuration.execution.parallel_workers, max(1, tally.planned))
        self._workers = [
            asyncio.create_task(
                self._drive_queue(interpreter, queue, drive_pass, tally, server), name=f"worker-{n}"
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
        """End the drive without waiting for the requests in flight."""
        for worker in self._workers:
            worker.cancel()

    def give_up(self, error: BaseException) -> None:
        """Stop the drive because of `error`, and keep it if it is the first.

        Requests in flight still end.
        """
        if self.trouble is None:
            self.trouble = error
        self.stop.set()

    def why(self, *, requested: bool) -> BaseException | None:
        """The error that ended the drive, or a `Halted` that counts the evaluations left pending.

        `None` if there is neither. After a `requested` stop, pending evaluations are no error.
        """
        if self.trouble or not self._turned_away or requested:
            return self.trouble
        unfinished = plural(len(self._turned_away), "evaluation")
        return Halted(f"{unfinished} left unfinished; {self._turned_away[0]}")

    def _count_planned(self) -> int:
        """The number of planned evaluations in `part`, of all models.

        A part consists of pieces, each a case or one repetition of a case. Every piece has as many
        evaluations.
        """
        manifest = self.run.started
        if self.part is None or not manifest.planned_cases:
            return manifest.planned_evaluations
        pieces = manifest.planned_cases * self.part.of_case
        return manifest.planned_evaluations // pieces * len(self.part.pieces)

    def _interpreter(self, drive_pass: DrivePass) -> Interpreter:
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
            purposes=drive_pass.purposes,
            may_send=self.may_send,
            spending=self.spending,
        )

    async def _drive_queue(
        self,
        interpreter: Interpreter,
        queue: WorkQueue,
        drive_pass: DrivePass,
        tally: Tally,
        server: int,
    ) -> None:
        try:
            if self.turns is None:
                turn: asyncio.Semaphore | nullcontext[None] = nullcontext()
            else:
                turn = self.turns[server]
                await queue.look_ahead()  # read while other drives use the server
            async with turn:
                await self._carry_on(interpreter, queue, drive_pass, tally)
        except Exception as error:
            self.give_up(error)

    async def _carry_on(
        self, interpreter: Interpreter, queue: WorkQueue, drive_pass: DrivePass, tally: Tally
    ) -> None:
        """Work on the queue's evaluations, one after the other, until none is left or `stop` is
        set. Finished evaluations are counted in `tally`."""
        while not self.stop.is_set() and (job := await queue.next()) is not None:
            self.hooks.check_begin(job)
            finished = False
            try:
                evaluation = await interpreter.evaluate(job.key, job.case, job.history)
                finished = evaluation.finished
            except DeferredTooLong as error:
                if drive_pass.submissions is not None:
                    raise  # a program waits for the evaluation that it submitted
                self._turned_away.append(error)
                continue
            finally:
                self.hooks.check_end(job, finished)
            if evaluation.finished:
                tally.add(evaluation)
                is_only_case = self.run.started.planned_cases == 1
                why = self.targets.lost.add(evaluation, is_only_case=is_only_case)
                if why is not None:
                    raise Halted(why)


def drain_s(configuration: Configuration) -> float:
    """Seconds that requests in flight may take to end after a stop: the longest timeout of a model,
    and a margin."""
    default_ms = configuration.execution.timeout_per_request_ms
    models = (*configuration.models, *configuration.asked_judges)
    longest_ms = max(default_ms, *(model.timeout_ms or default_ms for model in models))
    return longest_ms / 1000 + _DRAIN_MARGIN_S
