"""Drives a run from a Python program: what `start` and `resume` do, without a terminal.

The run is driven in a separate thread. So it works within a running event loop, as in a notebook,
and a keyboard interrupt lets the requests in flight end, as in the command.
"""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import UUID

import orjson

from failproof_es.assurance.signing.opened_store import open_store
from failproof_es.cli.app.process import raise_descriptor_limit
from failproof_es.cli.app.run_end import write_files
from failproof_es.cli.rendering.partial_results import PartialResultsWriter
from failproof_es.configuration.loading import LoadedConfiguration, load_configuration
from failproof_es.configuration.locations import dotted
from failproof_es.configuration.rules import AS_TEXT, non_json_values
from failproof_es.core.case import Case
from failproof_es.engine.drive_outcome import Outcome
from failproof_es.engine.lifecycle import resume, start
from failproof_es.engine.planning.sources import source_of
from failproof_es.events import Event, RunStarted
from failproof_es.models.trust.remembered import permissions_here
from failproof_es.problems import InvalidInput, Problem, Problems
from failproof_es.reading.cases_by_result import with_cases_by_result
from failproof_es.reading.recorded_run import RecordedRun
from failproof_es.reading.signing_following import sign_and_follow
from failproof_es.store.reading.reader import resolve_run
from failproof_es.store.store import Store
from failproof_es.support import event_loop

logger = logging.getLogger("failproof_es")

ConfigurationSource = Path | str | Mapping[str, Any]
"""A configuration: a file, the name of a shipped one, or the content of a file."""
OnRunStarted = Callable[[RunStarted], None]
"""Called with a run once it is on record, from another thread, before anything is sent."""
Drive = Callable[..., Coroutine[Any, Any, Outcome]]


class FilesNotWritten(Exception):
    """A file that the run's configuration names could not be written; the run is on record."""


def load(configuration: ConfigurationSource, settings: Sequence[str] = ()) -> LoadedConfiguration:
    """Read and check a configuration. Raises `InvalidInput` with all its problems.

    `settings` (`KEY=VALUE`) override the configuration. Relative paths of a mapping start from the
    current folder.
    """
    __tracebackhide__ = True  # of pytest: a failure points to the test, not here
    if not isinstance(configuration, Mapping):
        return load_configuration(Path(configuration), settings)
    content = _serialize(dict(configuration))
    with TemporaryDirectory(prefix="failproof-es-") as folder:
        file = Path(folder, "configuration.yaml")
        file.write_bytes(content)
        try:
            loaded = load_configuration(file, settings, Path.cwd())
        except InvalidInput as error:
            raise InvalidInput([_of_mapping(problem, file) for problem in error.problems]) from None
    return replace(loaded, path=Path.cwd() / "configuration")


def planned_cases(loaded: LoadedConfiguration, database_url: str | None = None) -> list[Case]:
    """The cases that a run would ask, in order. Nothing is sent and nothing is stored.

    Without a `database_url`, the database is that of the environment, else the embedded server.
    Raises `InvalidInput` with every error in the suites.
    """
    cases: list[Case] = []
    with open_store(database_url, logger.warning) as store:
        source_of(with_cases_by_result(loaded, store), store).read(cases.append)
    return cases


def evaluate(
    loaded: LoadedConfiguration,
    *,
    database_url: str | None = None,
    on_start: OnRunStarted = lambda started: None,
    allow: Sequence[str] = (),
) -> Outcome:
    """Start a run, drive it to its end, and return its outcome. An interrupt pauses it.

    A paused run can be resumed. A vendor's key may go to the vendor's own host only, unless `allow`
    names another host (`VARIABLE=HOST`). Everything is checked before anything is sent: raises
    `InvalidInput` if anything is wrong. Raises `LedgerBroken` or `Forked` if the log was changed
    meanwhile, and `FilesNotWritten`.
    """
    with open_store(database_url, logger.warning) as store:
        permissions = permissions_here(allow, own=True)
        loaded = with_cases_by_result(loaded, store)
        return _carry_out(store, partial(start, loaded, store, permissions=permissions), on_start)


def go_on(
    run: str,
    *,
    database_url: str | None = None,
    on_start: OnRunStarted = lambda started: None,
    allow: Sequence[str] = (),
    allow_class: Sequence[str] = (),
) -> Outcome:
    """Resume a run, named by its number, its id or `latest`, and return its outcome.

    A run that has ended stays as it is. The run may do what this user started before, and what
    `allow` (`VARIABLE=HOST`) and `allow_class` (`module:Name`) permit: anybody who can write to the
    log may have planned it. Raises as `evaluate` does, and `RunBusy` while another process drives
    it.
    """
    with open_store(database_url, logger.warning) as store:
        with store.lend() as connection:
            run_id = resolve_run(connection, run)
            recorded = RecordedRun.read_events(connection, run_id)
        on_start(recorded.started)
        if recorded.run.imported is not None and recorded.run.ended:
            # An imported run never sends a request here.
            return Outcome.of(recorded.run, interrupted=False)
        permissions = permissions_here(allow, allow_class, own=False)
        drive = partial(resume, run_id, store, permissions=permissions)
        return _carry_out(store, drive, lambda started: None)


def _carry_out(store: Store, drive: Drive, on_start: OnRunStarted) -> Outcome:
    raise_descriptor_limit()
    with sign_and_follow(store, logger.warning):
        partial_results = PartialResultsWriter(store)

        def observe(event: Event) -> None:
            partial_results.observe(event)
            if isinstance(event, RunStarted):
                on_start(event)

        with partial_results:
            outcome = _driven(partial(drive, observe=observe, say=logger.info))
        unreadable: Exception | None = None
        try:  # on record before the last checkpoint
            files_written = _write_files(store, outcome.run_id)
        except Exception as error:
            unreadable = error  # a changed log is reported first
    if unreadable is not None:
        raise unreadable
    if not files_written:
        number = outcome.run_number
        raise FilesNotWritten(
            f"run {number} is on record, but its results file could not be written: "
            f"`failproof-es results {number} --format jsonl` prints them"
        )
    return outcome


def _write_files(store: Store, run_id: UUID) -> bool:
    with store.lend() as connection:
        run = RecordedRun.read(connection, run_id)
        return write_files(store, run, junit=None, quiet=True)


def _driven(drive: Drive) -> Outcome:
    """Drive a run in a thread and return its outcome; raises what driving raises.

    The first keyboard interrupt stops the run after the requests in flight, the second stops
    waiting for it.
    """
    ended: Future[Outcome] = Future()
    stopping: queue.Queue[Callable[[], object]] = queue.Queue()

    async def until_ended() -> Outcome:
        stop = asyncio.Event()
        stopping.put(partial(asyncio.get_running_loop().call_soon_threadsafe, stop.set))
        return await drive(stop=stop)

    def work() -> None:
        try:
            ended.set_result(event_loop.run(until_ended()))
        except BaseException as error:
            ended.set_exception(error)

    threading.Thread(target=work, name="failproof-es", daemon=True).start()
    try:
        return ended.result()
    except KeyboardInterrupt:
        if not ended.done():
            logger.warning("stopping after the requests in flight; interrupt again to stop at once")
            stopping.get()()
        return ended.result()


def _serialize(configuration: dict[str, Any]) -> bytes:
    """The configuration as JSON. Raises `InvalidInput` for what JSON cannot hold."""
    try:
        content = orjson.dumps(configuration, option=orjson.OPT_PASSTHROUGH_DATACLASS)
    except TypeError as error:
        raise InvalidInput.because(
            "wrong-type",
            f"the configuration is not what YAML can hold: {error}",
            remedy="use mappings, lists, strings, numbers, true, false and None",
        ) from None
    problems = Problems()
    for location, wrong in non_json_values(configuration):  # orjson writes null for NaN
        problems.error("not-storable", wrong, field=dotted(location), remedy=AS_TEXT)
    problems.raise_errors()
    return content


def _of_mapping(problem: Problem, file: Path) -> Problem:
    """The problem without the path of the temporary file that a mapping was written to."""
    return replace(problem, path=None, line=None) if problem.path == file else problem
