"""Drives a run with several local worker processes, or leaves it to workers elsewhere."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from tempfile import TemporaryDirectory
from typing import NamedTuple
from uuid import UUID

from failproof_es.cli.app.process import child_command
from failproof_es.cli.app.program import session
from failproof_es.cli.commands.several_workers import Begin
from failproof_es.cli.progress.recorded_progress import carried_over_key
from failproof_es.cli.progress.state import OBSERVED
from failproof_es.core.evaluation import EvaluationKey
from failproof_es.core.sharding.decisions import LIVED_S, replacement_wait_s
from failproof_es.engine.drive.pending import OnCarriedOver
from failproof_es.engine.drive.retrying_reader import RetryingReader
from failproof_es.engine.drive_outcome import Outcome
from failproof_es.engine.history import read_evaluations, read_run, split_by_size
from failproof_es.engine.identity import current_host
from failproof_es.engine.workers.ending import coordinating
from failproof_es.engine.workers.presence import dead_shards, list_workers
from failproof_es.engine.workers.shard_queue import is_open, usable_queue
from failproof_es.events import RUN_STATUS, CarriedOver, Event, RunStarted, topics
from failproof_es.models.trust.permissions import Permissions, options_of
from failproof_es.models.user_code.loading import folders_for_workers
from failproof_es.reading.workers import workers_of
from failproof_es.store.reading.reader import (
    Connection,
    RecordedEvent,
    find,
    max_position,
    read_event,
)
from failproof_es.store.store import Store
from failproof_es.store.writing.lease import LEASE_S

_LOOK_EVERY_S = 1.0
_AT_ONCE = 2_000
_MOST_READ_AFTERWARDS = 20_000
"""Most carried-over evaluations that are still read for the progress when the run is over."""
_HEARD_OF_S = 10.0
"""Seconds without a heartbeat after which a worker counts as gone, twice its usual interval."""


class _WorkedRun(NamedTuple):
    """The run that the workers drive."""

    run_id: UUID
    folder: str | None
    """The folder in which they share the results of their checks, if there is one."""
    stop: asyncio.Event
    """Set when each is to finish its work and leave."""
    say: Callable[[str], None]


@dataclass(frozen=True, slots=True)
class LocalWorkers:
    """Drives one run with `count` worker processes of this host, and reports on it meanwhile."""

    store: Store
    count: int
    begin: Begin
    granted: Permissions
    """The permissions of the run's configuration in these processes."""
    shows_progress: bool
    """Whether the progress is displayed: then every event that affects it is reported."""
    catch_up: Callable[[], int] = lambda: 0
    """Counts the events recorded before; returns the position after which events are reported."""
    _own: set[int] = field(default_factory=set)
    """Ids of the processes that were started."""

    async def drive(
        self,
        *,
        observe: Callable[[Event], None],
        stop: asyncio.Event,
        say: Callable[[str], None],
        on_carried_over: OnCarriedOver | None = None,
    ) -> Outcome:
        """Begin the run and drive it to its end, or until `stop` is set; return the outcome.

        `observe` is called with each event that matters to the progress or the results files,
        `on_carried_over` with each evaluation carried over from another run, `say` with messages.
        """
        usable_queue(self.store)
        # Before it begins: workers elsewhere record at once, and their events would count twice.
        after = await asyncio.to_thread(self.catch_up)
        run_id = await self.begin(say)
        over = asyncio.Event()
        telling = asyncio.create_task(
            self._report_events(run_id, after, observe, on_carried_over, over), name="told"
        )
        try:
            with _folder_for_checks() as folder:
                given_up = await self._run_processes(_WorkedRun(run_id, folder, stop, say))
            return await self._outcome(run_id, stopped=stop.is_set(), given_up=given_up)
        finally:
            over.set()
            await telling

    async def _run_processes(self, run: _WorkedRun) -> str | None:
        """Run the workers until all have left.

        Returns why a worker was not replaced any more, `None` if this did not happen.
        """
        numbers = range(1, self.count + 1)
        tasks = [asyncio.create_task(self._keep_worker(run, number)) for number in numbers]
        try:
            given_up = await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        return "; ".join(filter(None, given_up)) or None

    async def _keep_worker(self, run: _WorkedRun, number: int) -> str | None:
        """Run one worker until it has left. A killed process is replaced, within limits.

        `number` names the worker in messages. Returns why it is not replaced any more, `None` if it
        left by itself or was stopped.
        """
        deaths = 0
        while not run.stop.is_set():
            began = time.monotonic()
            code = await self._run_process(run, number)
            if code >= 0 or run.stop.is_set():
                return None
            deaths = 1 if time.monotonic() - began >= LIVED_S else deaths + 1
            killer = _signal_name(-code)
            wait_s = replacement_wait_s(deaths)
            if wait_s is None:
                run.say(f"worker {number} was killed by {killer} again: it is replaced no more")
                return f"worker {number} was killed {deaths} times in a row, last by {killer}"
            run.say(f"worker {number} was killed by {killer}; it is replaced in {wait_s:g} s")
            await _wait_for(run.stop, wait_s)
            if not await RetryingReader(self.store).read(is_open, run.run_id):
                return None  # other workers have ended or paused it
        return None

    async def _run_process(self, run: _WorkedRun, number: int) -> int:
        """Run one worker process until it ends; return its exit code, negative for a signal."""
        process = await self._begin_process(run.run_id, run.folder)
        self._own.add(process.pid)
        telling = asyncio.create_task(_forward_messages(process, f"worker {number}", run.say))
        stopping = asyncio.create_task(_terminate(process, run.stop))
        try:
            code = await process.wait()
            await telling
            return code
        finally:
            stopping.cancel()
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    process.kill()

    async def _begin_process(self, run_id: UUID, folder: str | None) -> asyncio.subprocess.Process:
        shared = () if folder is None else ("--shared-checks", folder)
        return await asyncio.create_subprocess_exec(
            *child_command("worker", "--run", str(run_id), "--drain", "--quiet", "--attached"),
            *options_of(self.granted),
            *shared,
            env={**session().child_environment(), **folders_for_workers()},
            stdin=asyncio.subprocess.PIPE,  # closes with this process, which the worker notices
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,  # Ctrl-C is for this process, which drains its workers
        )

    async def _outcome(self, run_id: UUID, *, stopped: bool, given_up: str | None) -> Outcome:
        """The run's outcome after all local workers left.

        Pauses the run unless workers elsewhere drive it. `given_up` is why a worker was not
        replaced, the reason on record.
        """
        reader = RetryingReader(self.store)
        run = await reader.read(read_run, run_id)
        if not (run.ended and run.sealed):
            why = "stopped on request" if stopped else given_up or "all its workers left"
            await self._pause_unless_driven(reader, run_id, why)
            run = await reader.read(read_run, run_id)
        return replace(Outcome.of(run, interrupted=stopped), interrupted=stopped and not run.ended)

    async def _pause_unless_driven(self, reader: RetryingReader, run_id: UUID, why: str) -> None:
        """Pause the run, for the reason `why`, unless a worker elsewhere drives it.

        A worker drives it that holds a shard of it, or that has joined and has a recent heartbeat.
        Waits for shards that only a lost host holds.
        """
        deadline = asyncio.get_running_loop().time() + LEASE_S + 1
        async with coordinating(self.store) as coordinator:
            while not await reader.read(_driven_elsewhere, run_id, self._own):
                paused = await coordinator.pause(run_id, why, alone=True)
                if paused or asyncio.get_running_loop().time() >= deadline:
                    return
                await asyncio.sleep(_LOOK_EVERY_S)

    async def _report_events(
        self,
        run_id: UUID,
        position: int,
        observe: Callable[[Event], None],
        on_carried_over: OnCarriedOver | None,
        over: asyncio.Event,
    ) -> None:
        """Report the workers' new events after `position`, until `over` is set and all are read."""
        reader = RetryingReader(self.store)
        observed = await reader.read(_observed_topics, run_id, shows_progress=self.shows_progress)
        reads_left = _MOST_READ_AFTERWARDS
        while True:
            last = over.is_set()
            rows, position = await reader.read(_read_new_events, run_id, position, observed)
            carried_over: list[EvaluationKey] = []
            for row in rows:
                observe(event := row.event())
                if isinstance(event, CarriedOver):
                    carried_over.append(carried_over_key(run_id, event))
            if carried_over and on_carried_over is not None and reads_left > 0:
                if last:
                    reads_left -= len(carried_over)
                # Only the read is repeated after an outage: each evaluation is reported once.
                for portion in await reader.read(_split_keys, carried_over):
                    for recorded in await reader.read(read_evaluations, portion):
                        on_carried_over(recorded)
            if len(rows) == _AT_ONCE:
                continue
            if last:
                return
            await _wait_for(over, _LOOK_EVERY_S)


@contextmanager
def _folder_for_checks() -> Iterator[str | None]:
    """A temporary folder for this user only, removed at the end; `None` if none can be made."""
    with ExitStack() as stack:
        folder = None
        with suppress(OSError):
            made = TemporaryDirectory(prefix="failproof-es-", ignore_cleanup_errors=True)
            folder = stack.enter_context(made)
        yield folder


def _observed_topics(
    connection: Connection, run_id: UUID, *, shows_progress: bool
) -> Sequence[str]:
    """The topics of events to report.

    With `shows_progress` those that the progress depends on, else those of partial results files,
    if the run's configuration names such a file.
    """
    if shows_progress:
        return (*OBSERVED, *RUN_STATUS)
    row = read_event(connection, run_id, 1)
    started = row.event() if row is not None else None
    output = started.configuration.get("output") if isinstance(started, RunStarted) else None
    return (*RUN_STATUS, *topics("evaluation", ends=True)) if output else tuple(RUN_STATUS)


def _read_new_events(
    connection: Connection, run_id: UUID, after: int, topics: Sequence[str]
) -> tuple[list[RecordedEvent], int]:
    """The next events with these topics, at most 2,000.

    With them the position up to which all events were read, from which the next call goes on.
    """
    newest = max_position(connection)  # rare topics: read no position twice
    rows = list(
        find(connection, run_id=run_id, topics=topics, after=after, up_to=newest, limit=_AT_ONCE)
    )
    return rows, rows[-1].position if len(rows) == _AT_ONCE else max(after, newest)


def _split_keys(connection: Connection, keys: Sequence[EvaluationKey]) -> list[list[EvaluationKey]]:
    """The keys in batches of evaluations that can be read in little memory."""
    return list(split_by_size(connection, keys))


def _driven_elsewhere(connection: Connection, run_id: UUID, own: Collection[int]) -> bool:
    """Whether a live worker outside of the processes `own` has joined the run and not left.

    A live worker has a recent heartbeat and, if it holds a shard, a session in the database.
    """
    joined = {member.worker for member in workers_of(connection, run_id) if member.left_at is None}
    here, dead = current_host(), dead_shards(connection, run_id)
    return any(
        worker.worker_id in joined
        and worker.silent_s <= _HEARD_OF_S
        and not (worker.host == here and worker.process in own)
        and not (worker.shards and dead.issuperset(worker.shards))
        for worker in list_workers(connection)
    )


async def _wait_for(event: asyncio.Event, seconds: float) -> None:
    """Wait until the event is set, at most so long."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()


async def _terminate(process: asyncio.subprocess.Process, stop: asyncio.Event) -> None:
    """Wait until `stop` is set, then send SIGTERM: a worker finishes its work and leaves."""
    await stop.wait()
    with suppress(ProcessLookupError):
        process.terminate()


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # a real-time signal
        return f"signal {number}"


async def _forward_messages(
    process: asyncio.subprocess.Process, name: str, say: Callable[[str], None]
) -> None:
    """Say each line that a worker writes to stderr, with its name before it.

    A line that is too long for memory is skipped: without a reader the worker would block.
    """
    assert process.stderr is not None
    while True:
        try:
            line = await process.stderr.readline()
        except ValueError:  # a line too long: a model's package may print anything
            continue
        if not line:
            return
        if text := line.decode("utf-8", "replace").strip():
            say(f"{name}: {text}")
