"""The runs of one test session: each is driven once, by one of the session's processes.

Workers of pytest-xdist share a folder. The first worker that needs a run takes its lock, drives it
and writes a note for the others. If that worker dies, the next one resumes the run.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import orjson
import pytest

from failproof_es.support.atomic_file import atomic_write
from failproof_es.support.file_lock import locked
from failproof_es.support.untrusted_text import one_line
from failproof_es.testing.pytest_plugin import PREPARED, folder_of


@dataclass(slots=True)
class SharedRun:
    """The note about a run of this session, which its processes share as a file."""

    name: str
    """The configuration or the run, as named by the user."""
    run: str | None = None
    """The number of the run, once it is recorded."""
    status: str | None = None
    """The final status; `None` while the run is driven."""
    error: str | None = None
    """Why the run could not be driven."""
    interrupted: bool = False


class CouldNotRun(Exception):
    """A run that could not be executed, in this process or in another one of the session."""


class SharedRuns:
    """The notes in the session's folder, and the runs that this process has opened."""

    def __init__(self, config: pytest.Config) -> None:
        self.folder = folder_of(config)
        self.folder.mkdir(mode=0o700, exist_ok=True)
        self.database_url: str | None = config.getoption("--failproof-database-url")
        self.allow: list[str] = config.getoption("--failproof-allow")
        """Permissions for variables, as `VARIABLE=HOST`."""
        self._opened: dict[str, Any] = {}

    def opened(self, name: str, key: str, drive: Drive | None = None) -> Any:
        """The `OpenedRun` of this key, executed first unless a process of the session has.

        `name` is the configuration or the run, as named by the user. `drive` executes a
        configuration; `None` resumes the recorded run `name`. Raises `CouldNotRun` with the reason
        if that failed, or `KeyboardInterrupt` if the run was interrupted.
        """
        if key not in self._opened:
            note = self._ensure_driven(name, key, drive)
            from failproof_es.library.opened_run import OpenedRun

            assert note.run is not None
            self._opened[key] = OpenedRun.open(note.run, database_url=self.database_url)
        return self._opened[key]

    def _ensure_driven(self, name: str, key: str, drive: Drive | None) -> SharedRun:
        file = self.folder / f"{key_of(key)}.json"
        with locked(file.with_suffix(".lock"), patience_s=math.inf):
            note = read_note(file) or SharedRun(name)
            if note.interrupted:
                raise KeyboardInterrupt(f"run {note.run} was interrupted")
            if note.error is None and note.status is None:
                self._drive(note, file, drive)
            if note.error is not None:
                raise CouldNotRun(note.error)
            return note

    def _drive(self, note: SharedRun, file: Path, drive: Drive | None) -> None:
        from failproof_es.library.evaluating import go_on
        from failproof_es.store.url_redaction import redact_message

        def record_start(started: Any) -> None:
            note.run = str(started.run_number)
            _write_note(file, note)

        try:
            if note.run is None and drive is not None:
                outcome = drive(record_start)
            else:  # recorded: another process drove it and died, or `--failproof-resume` names it
                again = note.name if note.run is None else note.run
                outcome = go_on(
                    again, database_url=self.database_url, on_start=record_start, allow=self.allow
                )
        except Exception as error:
            note.error = redact_message(f"{type(error).__name__}: {error}")
            _write_note(file, note)
            raise
        note.run, note.status = str(outcome.run_number), outcome.status
        note.interrupted = outcome.interrupted
        _write_note(file, note)
        if outcome.interrupted:
            raise KeyboardInterrupt(f"run {note.run} was interrupted")

    def close(self) -> None:
        """Close all opened runs."""
        for opened in self._opened.values():
            opened.close()


Drive = Callable[[Callable[[Any], None]], Any]
"""Drives a run and returns its outcome; calls its argument when the run is recorded."""


def shared_runs(config: pytest.Config) -> SharedRuns:
    """The session's `SharedRuns`, created on first use."""
    if PREPARED not in config.stash:
        config.stash[PREPARED] = SharedRuns(config)
    runs = config.stash[PREPARED]
    assert isinstance(runs, SharedRuns)
    return runs


def tell(folder: Path, terminal: Any) -> None:
    """Print the runs of the session on the terminal, each with the next command."""
    notes = [read_note(file) for file in sorted(folder.glob("*.json"))]
    started = [note for note in notes if note is not None and note.run is not None]
    if started:
        terminal.section("failproof-es")
    for note in started:
        terminal.line(one_line(f"{note.name}: {_next_command(note)}"))


def key_of(text: str) -> str:
    """A file name for any text: its SHA-256, in hexadecimal."""
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()


def read_note(file: Path) -> SharedRun | None:
    """The note in a file; `None` if the file does not exist."""
    try:
        return SharedRun(**orjson.loads(file.read_bytes()))
    except FileNotFoundError:
        return None


def _write_note(file: Path, note: SharedRun) -> None:
    atomic_write(file, [orjson.dumps(asdict(note))])


def _next_command(note: SharedRun) -> str:
    if note.status is None or note.status == "paused":
        return (
            f"run {note.run} is not complete: `pytest --failproof-resume {note.run}` or "
            f"`failproof-es resume {note.run}` goes on"
        )
    return f"run {note.run} {note.status}: `failproof-es show {note.run}` says more"
