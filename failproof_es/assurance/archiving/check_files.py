"""Compares archived events with the files that hold them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from uuid import UUID

from failproof_es.assurance.archiving.archive_file import matching_events, read_archive
from failproof_es.assurance.checking.findings import (
    ARCHIVE_CHANGED,
    ARCHIVE_MISSING,
    ArchivedEvents,
    Verification,
    VerificationFinding,
)
from failproof_es.ledger import bundle
from failproof_es.ledger.contents import EvidenceError
from failproof_es.ledger.note import PublicKey
from failproof_es.ledger.tlog_policy import Policy
from failproof_es.problems import InvalidInput
from failproof_es.store.ledger import Connection
from failproof_es.store.reading.archives import archived_rows


def check_archives(
    connection: Connection, places: Sequence[Path], key: PublicKey | None, result: Verification
) -> None:
    """Check every archived event whose file is in one of these files or folders.

    Sets `checked` of the runs in `result`; a file that is not what is on record becomes a finding.
    Raises `InvalidInput` for a file that cannot be read, or that is named itself and is of no run
    archived here. Folders are searched with those below them; files of other runs are skipped
    there, and other evidence of the same run: it holds the same events, but is not the file that
    `attach` wants. If a folder is among the places, a run whose events left the log and whose file
    is in none of the places is a finding.
    """
    found_changed: set[UUID] = set()
    for path, is_named in _files(places):
        data = read_archive(path)
        digest = hashlib.sha256(data).hexdigest()
        places_known = {run.run_id: n for n, run in enumerate(result.archived_runs)}
        by_digest = {run.sha256: run.run_id for run in result.archived_runs}
        run_id = by_digest.get(digest) or _run_of(path, data)
        place = None if run_id is None else places_known.get(run_id)
        if place is None:
            if is_named:
                raise InvalidInput.because(
                    "wrong-archive",
                    f"{path} is not the archive of a run that is archived in this database",
                    remedy="name files that `failproof-es archive` wrote from it",
                )
            continue
        run = result.archived_runs[place]
        if not is_named and digest != run.sha256 and _is_other_evidence(connection, data, run, key):
            continue
        try:
            if digest != run.sha256:
                raise EvidenceError(f"its SHA-256 is {digest}, on record is {run.sha256}")
            read = bundle.read(data)
            if key is not None:
                bundle.verify(read, Policy.of(key))
            if run.taken_out:
                for _ in matching_events(read.events, archived_rows(connection, run.run_id)):
                    pass
        except EvidenceError as error:
            message = f"{path} is not what run {run.run_number} was archived in: {error}"
            if digest == run.sha256:
                message = f"what is kept of run {run.run_number} is not what {path} holds: {error}"
            result.add(VerificationFinding(ARCHIVE_CHANGED, message, None, None, run.run_id))
            found_changed.add(run.run_id)
        else:
            result.archived_runs[place] = replace(run, checked=True)
    if any(place.is_dir() for place in places):
        _add_missing(places, found_changed, result)


def _add_missing(places: Sequence[Path], changed: set[UUID], result: Verification) -> None:
    for run in result.archived_runs:
        if run.checked or not run.taken_out or run.run_id in changed:
            continue
        message = (
            f"the file of run {run.run_number} is not in {', '.join(map(str, places))}: it was "
            f"archived in {run.file}, SHA-256 {run.sha256}; if it is elsewhere, name that, too"
        )
        result.add(VerificationFinding(ARCHIVE_MISSING, message, None, None, run.run_id))


def _files(places: Sequence[Path]) -> Iterator[tuple[Path, bool]]:
    """Each file, and whether it was named itself (not found in a folder)."""
    for place in places:
        if place.is_dir():
            yield from ((path, False) for path in sorted(place.rglob("*.evidence")))
        else:
            yield place, True


def _is_other_evidence(
    connection: Connection, data: bytes, run: ArchivedEvents, key: PublicKey | None
) -> bool:
    """Whether a file's content is valid evidence: another export or an earlier archive of the run.

    `data` is the content. With `key`, the log's public key, its proof is verified, too; if the
    run's events were taken out of the log, the file must hold every one of them, unchanged.
    """
    rows = archived_rows(connection, run.run_id) if run.taken_out else None
    try:
        read = bundle.read(data)
        if key is not None:
            bundle.verify(read, Policy.of(key))
        if rows is not None:
            for _ in matching_events(read.events, rows):
                pass
    except EvidenceError:
        return False
    return True


def _run_of(path: Path, data: bytes) -> UUID | None:
    """Id of the run in a file's manifest, else in its name; `None` if there is none."""
    try:
        return UUID(str(bundle.read(data).manifest.get("run_id")))
    except (EvidenceError, ValueError):
        pass
    try:
        return UUID(path.name.removesuffix(".evidence")[-36:])
    except ValueError:
        return None
