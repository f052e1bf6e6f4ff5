"""Records each file that a command writes about runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from uuid import UUID

from failproof_es.cli.rendering.output import say, write_file
from failproof_es.engine.operations import record_operations
from failproof_es.events import FileKind, FileWritten
from failproof_es.store.errors import ReadOnlyLog
from failproof_es.store.store import Store
from failproof_es.support.atomic_file import WrittenFile


def write_recorded(
    store: Store, run_ids: Sequence[UUID], kind: FileKind, path: Path, pieces: Iterable[bytes]
) -> WrittenFile:
    """Write a file that was asked for by name, and put that on record. Raises `InvalidInput`."""
    written = write_file(path, pieces)
    record_file(store, run_ids, kind, path, written)
    return written


def record_file(
    store: Store, run_ids: Sequence[UUID], kind: FileKind, path: Path, written: WrittenFile
) -> None:
    """Put on record, beside each of these runs, that the file stands there.

    Who may only read, as an auditor, has the file all the same, and is told that no run knows.
    """
    file = {"kind": kind, "path": str(path.absolute()), **written._asdict()}
    try:
        for run_id in run_ids:
            record_operations(store, run_id, [(FileWritten, file)])
    except ReadOnlyLog:
        say(f"not on record: this database user may only read, so no audit trail names {path}")
