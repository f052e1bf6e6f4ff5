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
    """Write a file that the user named, and record that for each run; its size and digest.

    Raises `InvalidInput` if the file cannot be written. A user who may only read still gets it,
    with a note that it is not on record.
    """
    written_file = write_file(path, pieces)
    record_file(store, run_ids, kind, path, written_file)
    return written_file


def record_file(
    store: Store, run_ids: Sequence[UUID], kind: FileKind, path: Path, written_file: WrittenFile
) -> None:
    """Record for each of these runs that the file at `path` was written.

    A user who may only read, such as an auditor, gets a note that it is not on record.
    """
    file = {"kind": kind, "path": str(path.absolute()), **written_file._asdict()}
    try:
        for run_id in run_ids:
            record_operations(store, run_id, [(FileWritten, file)])
    except ReadOnlyLog:
        say(f"not on record: this database user may only read, so no audit trail names {path}")
