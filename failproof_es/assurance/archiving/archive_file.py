"""The file of an archived run: its evidence. Written whole, read again, compared row by row."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from failproof_es.assurance.run_evidence import evidence_lines
from failproof_es.ledger import bundle
from failproof_es.ledger.contents import EvidenceError
from failproof_es.ledger.event_line import ProvenEvent
from failproof_es.ledger.note import PublicKey
from failproof_es.ledger.tlog_policy import Policy
from failproof_es.problems import InvalidInput
from failproof_es.store.ledger import Connection
from failproof_es.store.reading.archives import ArchivedRow
from failproof_es.support.atomic_file import atomic_create, describe_write_error, sync_folder
from failproof_es.support.regular_file import open_regular


def file_name(run_number: int, run_id: UUID) -> str:
    """The file's name for a run, unique among the runs of all logs."""
    return f"run-{run_number}-{run_id}.evidence"


def write_archive(connection: Connection, run_id: UUID, path: Path, key: PublicKey) -> bool:
    """Write the run's evidence, as of the newest checkpoint; return false if `path` exists.

    The file gets its name once it is whole and on disk. Raises `InvalidInput` where it cannot be
    written, or the run is not as it was sealed and signed.
    """
    try:
        _make_folder(path.parent)
        if path.exists():
            _make_durable(path)  # its writer may have been killed before it was on disk
            return False
        atomic_create(path, evidence_lines(connection, run_id, key=key), 0o666)
    except FileExistsError:
        return False
    except EvidenceError as error:
        raise InvalidInput.because(
            "log-changed",
            f"the run is not what was sealed and signed: {error}",
            remedy="`failproof-es verify` says what was changed; nothing was archived",
        ) from None
    except OSError as error:
        raise InvalidInput.because(
            "file-unwritable",
            f"{path} cannot be written: {describe_write_error(path, error)}",
            remedy="name a folder where you may write and that has room; nothing was archived",
        ) from None
    return True


def _make_folder(folder: Path) -> None:
    """Make a folder and its parents, and sync their names to disk."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for path in missing:
        sync_folder(path.parent)


def _make_durable(path: Path) -> None:
    with open_regular(path) as file:
        os.fsync(file.fileno())
    sync_folder(path.parent)


def read_archive(path: Path) -> bytes:
    """The file's bytes, read from the disk and not from the page cache. Raises `InvalidInput`."""
    try:
        with open_regular(path) as file:
            if hasattr(os, "posix_fadvise"):
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            return file.read()
    except OSError as error:
        raise InvalidInput.because(
            "file-not-found" if isinstance(error, FileNotFoundError) else "file-unreadable",
            f"{path} cannot be read: {error.strerror or error}",
            remedy="name the file of an archived run",
        ) from None


@dataclass(frozen=True, slots=True)
class CheckedArchive:
    """An archive file that was checked against the rows of its run."""

    bytes: int
    sha256: str
    origin: str
    tree_size: int
    tree_root: str
    first_index: int
    last_index: int


def check_archive(
    data: bytes, run_id: UUID, rows: Sequence[ArchivedRow], key: PublicKey
) -> CheckedArchive:
    """Check that the file proves its run, and holds exactly these rows of the run's evaluations.

    Raises `EvidenceError` with the first reason against it.
    """
    read = bundle.read(data)
    verdict = bundle.verify(read, Policy.of(key))
    if verdict.contents.run_id != run_id:
        raise EvidenceError(f"it is the evidence of run {verdict.contents.run_id}")
    proven_events = list(matching_events(read.events, rows))
    return CheckedArchive(
        len(data),
        hashlib.sha256(data).hexdigest(),
        verdict.checkpoint.origin,
        verdict.checkpoint.size,
        verdict.checkpoint.root.hex(),
        proven_events[0].index,
        proven_events[-1].index,
    )


def matching_events(
    events: Sequence[ProvenEvent], rows: Sequence[ArchivedRow]
) -> Iterator[ProvenEvent]:
    """The event of each row, in the order of `rows` (by position).

    Raises `EvidenceError` where an event is missing, differs from its row, or is out of order in
    the tree; without rows; and where the rows' streams do not have as many events as there are
    rows.
    """
    if not rows:
        raise EvidenceError("there is nothing of the run that the file could hold")
    streams = {row.stream_id for row in rows}
    held = {
        (proven_event.stream_id, proven_event.version): proven_event
        for proven_event in events
        if proven_event.stream_id in streams
    }
    if len(held) != len(rows):
        raise EvidenceError(f"it holds {len(held)} events of evaluations, not {len(rows)}")
    last = -1
    for row in rows:
        event = held.get((row.stream_id, row.version))
        if event is None or event.topic != row.topic or event.leaf_hash() != row.leaf_hash:
            raise EvidenceError(
                f"the event at position {row.position} (stream {row.stream_id} version "
                f"{row.version}) is not in it as it is in the log"
            )
        if event.index <= last:
            raise EvidenceError(f"in it position {row.position} stands elsewhere in the tree")
        last = event.index
        yield event


def rows_sha256(rows: Sequence[ArchivedRow]) -> str:
    """`RunArchived.rows_sha256`: over position, time of recording and leaf of each row."""
    digest = hashlib.sha256()
    for row in rows:
        digest.update(row_bytes(row))
    return digest.hexdigest()


def row_bytes(row: ArchivedRow) -> bytes:
    """The 48 bytes of a row that `rows_sha256` hashes."""
    return row.position.to_bytes(8, "big", signed=True) + row.recorded_at + row.leaf_hash


def count_topics(rows: Sequence[ArchivedRow]) -> dict[str, int]:
    """The number of rows of each topic, by name."""
    return dict(sorted(Counter(row.topic for row in rows).items()))
