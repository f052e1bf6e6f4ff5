"""Partial results files: one file for every N finished evaluations of a running run.

File k holds the evaluations (k-1)N+1 to kN, numbered by the order in which the log has them
finished. Its content depends on the log only, not on its writer or its time. So a run that was
killed and resumed has all of these files, and every evaluation is in them once.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Self
from uuid import UUID

import psycopg

from failproof_es.cli.rendering.output import say
from failproof_es.cli.rendering.result_rows import rows_of
from failproof_es.cli.rendering.results_file import (
    file_output,
    metadata,
    partial_results_path,
    results_path,
    run_id_in,
    write_lines,
)
from failproof_es.cli.rendering.written_files import record_file
from failproof_es.core.evaluation import EvaluationKey
from failproof_es.engine.history import iterate_evaluations
from failproof_es.events import (
    EVALUATION_ENDINGS,
    CarriedOver,
    EvaluationAbandoned,
    EvaluationEvent,
    Event,
    Scored,
)
from failproof_es.reading.recorded_run import RecordedRun
from failproof_es.store.reading.reader import RecordedEvent, find
from failproof_es.store.store import Store

_BREATH_S = 0.2
"""Minimum seconds between two reads of the log."""


class PartialResults:
    """Writes the partial results files of one run, one after the other."""

    def __init__(self, store: Store, run: RecordedRun) -> None:
        self._store = store
        self._run = run
        output = file_output(run)
        self.every = output.checkpoint_every if output else None
        self._path = results_path(output.path, run) if output else Path()
        self._files_on_disk = 0
        self._position = 0

    def write_due(self) -> None:
        """Write every file that is due and does not exist.

        Does nothing if none are configured. Raises `OSError` if one cannot be written.
        """
        if self.every is None:
            return
        while len(rows := self._next(self.every)) == self.every:
            path = partial_results_path(self._path, self._files_on_disk + 1)
            if run_id_in(path) != str(self._run.run_id):
                self._write(path, rows)
            self._files_on_disk += 1
            self._position = rows[-1].position

    def _next(self, count: int) -> list[RecordedEvent]:
        """The next `count` events that end an evaluation; fewer if no more are recorded."""
        return list(
            find(
                self._run.connection,
                run_id=self._run.run_id,
                topics=EVALUATION_ENDINGS,
                after=self._position,
                limit=count,
            )
        )

    def _write(self, path: Path, finals: list[RecordedEvent]) -> None:
        keys = [_key(row) for row in finals]
        checkpoint = {
            "number": self._files_on_disk + 1,
            "evaluations": len(finals),
            "finished_before": self._files_on_disk * len(finals),
            "position": finals[-1].position,
        }
        evaluations = iterate_evaluations(self._run.connection, keys)
        header = {"metadata": {**metadata(self._run), "status": "running"}}
        rows = rows_of(self._run, evaluations)
        written_file = write_lines(path, {**header, "checkpoint": checkpoint}, rows)
        record_file(self._store, [self._run.run_id], "checkpoint", path, written_file)


class PartialResultsWriter:
    """Writes a run's partial results files in a separate thread, within its context.

    Call `observe` with each event. A failed write is reported once and does not stop the run: the
    log is whole, and the files are written when the run ends.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._run_id: UUID | None = None
        self._wake = threading.Event()
        self._stop = threading.Event()
        self._thread = threading.Thread(
            target=self._write_results, name="partial-results", daemon=True
        )

    def observe(self, event: Event) -> None:
        """Wake the thread if the event, which is recorded already, ends an evaluation."""
        if isinstance(event, Scored | EvaluationAbandoned | CarriedOver):
            self._run_id = event.run_id
            self._wake.set()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._wake.set()
        self._thread.join()

    def _write_results(self) -> None:
        if not self._woken() or self._run_id is None:
            return
        try:
            with self._store.lend() as connection:
                run = RecordedRun.read_events(connection, self._run_id)
                partial = PartialResults(self._store, run)
                while partial.every is not None:
                    # Also for the event that woke this thread: it may have been the last.
                    partial.write_due()
                    self._stop.wait(_BREATH_S)
                    if not self._woken():
                        break
        except (OSError, psycopg.Error) as error:
            say(f"warning: no partial results file can be written: {error}. The log is complete.")

    def _woken(self) -> bool:
        """Wait until an evaluation has ended; false if the thread is to stop.

        The wake-up is cleared before the check, and a stop sets `_stop` first: none is missed.
        """
        self._wake.wait()
        self._wake.clear()
        return not self._stop.is_set()


def _key(final: RecordedEvent) -> EvaluationKey:
    """The key of the evaluation that a final event ends."""
    event = final.event()
    assert isinstance(event, EvaluationEvent) and event.run_id is not None
    return EvaluationKey(event.run_id, event.prompt_id, event.model_key, event.repetition)
