"""Checkpoints kept outside the database, to check the log against without trusting its server.

A place is a file, a folder (which keeps every checkpoint it ever saw) or a URL (kept by somebody
else, and only read). A kept checkpoint never goes back: keeping locks the place, compares with the
checkpoint there, and replaces it by a later one.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from failproof_es.assurance.signing.signing_key import own_file
from failproof_es.assurance.tree import stored_tree
from failproof_es.ledger import checkpoint, note
from failproof_es.ledger.checkpoint import Checkpoint
from failproof_es.ledger.errors import NotSigned
from failproof_es.ledger.merkle import InvalidProof, consistency_proof, verify_consistency
from failproof_es.ledger.note import Note, NoteError, PublicKey
from failproof_es.problems import InvalidInput
from failproof_es.store import ledger
from failproof_es.store.ledger import Connection
from failproof_es.support.atomic_file import atomic_write, describe_write_error
from failproof_es.support.file_lock import lock_beside, locked
from failproof_es.support.regular_file import read_regular
from failproof_es.support.shipped import expand_home

_TIMEOUT_S = 10.0
_MOST_BYTES = 1 << 20


class Forked(NotSigned):
    """The log does not continue a checkpoint that was kept."""


@dataclass(slots=True)
class KeptCheckpoint:
    """The newest checkpoint that is kept in a place."""

    place: str
    key: PublicKey
    note: Note | None = None
    checkpoint: Checkpoint | None = None
    """The content of `note`, which the log signed; `None` where nothing is kept yet."""

    def replace(self, signed: Note) -> None:
        """Replace the kept checkpoint atomically by one that was checked.

        A checkpoint of a smaller tree, or with no additional signature, replaces nothing, and a URL
        is never written. Raises `Forked` for another tree of the same size, `NoteError` if the log
        did not sign it, and `InvalidInput` when it cannot be written.
        """
        new = checkpoint.opened(signed, self.key)
        if self.note is not None and self.checkpoint is not None:
            if self.checkpoint.size > new.size:
                return
            if self.checkpoint.size == new.size:
                _check_same_tree(self.checkpoint, new)
                if not set(self.note.signatures) < set(signed.signatures):
                    return
        if not _is_url(self.place):
            _write(self.place, signed, new.size)


def default_place(origin: str) -> Path:
    """The file with this user's own trusted checkpoint of the log."""
    return own_file(origin, "checkpoint")


def read_kept(place: str, key: PublicKey) -> Checkpoint | None:
    """The newest checkpoint in a place; `None` where nothing is kept yet.

    Raises `InvalidInput` when it is not signed by the log, or cannot be read.
    """
    return _load_kept_checkpoint(place, key).checkpoint


@contextlib.contextmanager
def locked_place(place: str, key: PublicKey) -> Iterator[KeptCheckpoint]:
    """The checkpoint kept in a place, which is locked until the context ends.

    Raises `InvalidInput` when it is not signed by the log, or the place cannot be used.
    """
    with contextlib.ExitStack() as alone:
        if not _is_url(place):
            try:
                file = _file(place)
                file.parent.mkdir(parents=True, exist_ok=True)
                alone.enter_context(locked(lock_beside(file)))
            except OSError as error:
                raise _not_kept(place, error) from None
        yield _load_kept_checkpoint(place, key)


def check_and_keep(
    connection: Connection, place: str, key: PublicKey
) -> tuple[Checkpoint, int | None]:
    """Compare the log with the checkpoint in a place, and keep the log's newest one there.

    Returns the newest checkpoint, and the size of the one kept before. Raises `Forked`, or
    `InvalidInput`.
    """
    with locked_place(place, key) as kept_checkpoint:
        # Read after the kept one: every kept checkpoint was signed in the database first.
        try:
            stored = newest_note(connection, key)
            newest = checkpoint.opened(stored, key)
        except NoteError as error:
            raise Forked(
                f"the newest checkpoint in the database is not of this key: {error}"
            ) from None
        before = kept_checkpoint.checkpoint
        if before is not None:
            check_continues(connection, before, newest)
        kept_checkpoint.replace(stored)
    return newest, None if before is None else before.size


def newest_note(connection: Connection, key: PublicKey) -> Note:
    """The newest checkpoint in the database that `key` signed.

    Raises `InvalidInput` when there is no checkpoint, and `NoteError` when `key` signed none.
    """
    signed = newest_signed(connection, key)
    if signed is None:
        raise InvalidInput.because(
            "no-checkpoint",
            "the log has no checkpoint",
            remedy="run `failproof-es ledger checkpoint`",
        )
    return signed


def newest_signed(connection: Connection, key: PublicKey) -> Note | None:
    """The newest checkpoint that `key` signed; `None` where there is no checkpoint at all.

    A checkpoint with a bad signature is skipped, and `verify` reports it: the database cannot check
    signatures, and the engine's login can write one. Raises `NoteError` when `key` signed none.
    """
    refused: NoteError | None = None
    for stored in ledger.newest_checkpoints(connection):
        try:
            signed = note.parse(stored.note)
            checkpoint.opened(signed, key)
        except NoteError as error:
            refused = refused or NoteError(f"(size {stored.tree_size}) {error}")
        else:
            return signed
    if refused is not None:
        raise refused
    return None


def check_continues(
    connection: Connection, kept_checkpoint: Checkpoint, newest: Checkpoint
) -> None:
    """Raise `Forked` unless the tree in the database continues `kept_checkpoint`.

    `newest` signs that tree.
    """
    if kept_checkpoint.origin != newest.origin:
        raise Forked(
            f"kept is a checkpoint of {kept_checkpoint.origin}; this log is {newest.origin}"
        )
    if kept_checkpoint.size > newest.size:
        raise Forked(
            f"the checkpoint kept signs {kept_checkpoint.size} events, this log's newest only "
            f"{newest.size}: the tail was cut, or an older backup restored"
        )
    if kept_checkpoint.size == newest.size:
        _check_same_tree(kept_checkpoint, newest)
        return
    try:
        proof: list[bytes] = []
        if kept_checkpoint.size:
            proof = consistency_proof(
                stored_tree(connection).subtree, kept_checkpoint.size, newest.size
            )
        verify_consistency(
            kept_checkpoint.size, kept_checkpoint.root, newest.size, newest.root, proof
        )
    except (InvalidProof, KeyError):
        raise _forked(kept_checkpoint) from None


def _check_same_tree(kept_checkpoint: Checkpoint, newest: Checkpoint) -> None:
    if kept_checkpoint.root != newest.root:
        raise _forked(kept_checkpoint)


def _forked(kept_checkpoint: Checkpoint) -> Forked:
    return Forked(
        f"this log's first {kept_checkpoint.size} events are not those of the checkpoint kept"
    )


def _write(place: str, signed: Note, size: int) -> None:
    file = _file(place)
    try:
        if expand_home(place).is_dir():
            atomic_write(file.with_name(f"{size:020}.checkpoint"), [str(signed).encode()])
        atomic_write(file, [str(signed).encode()])
    except OSError as error:
        raise _not_kept(place, error) from None


def _load_kept_checkpoint(place: str, key: PublicKey) -> KeptCheckpoint:
    try:
        content = _content(place)
        if content is None:
            return KeptCheckpoint(place, key)
        signed = note.parse(content.decode())
        return KeptCheckpoint(place, key, signed, checkpoint.opened(signed, key))
    except (UnicodeDecodeError, NoteError) as error:
        raise InvalidInput.because(
            "checkpoint-unusable",
            f"the checkpoint kept in {place} cannot be used: {error}",
            remedy="if nobody changed it, the log has a new key; ask why",
        ) from None
    except OSError as error:
        why = f"no answer within {_TIMEOUT_S:g} s" if isinstance(error, TimeoutError) else error
        raise InvalidInput.because(
            "checkpoint-unusable",
            f"the checkpoint kept in {place} cannot be read: {why}",
            remedy="name a file, a folder or a URL that can be",
        ) from None


def _content(place: str) -> bytes | None:
    if _is_url(place):
        return _fetched(place)
    with contextlib.suppress(FileNotFoundError):
        return read_regular(_file(place), _MOST_BYTES)
    return None


def _fetched(url: str) -> bytes:
    from failproof_es.web.client import UNUSABLE, fetch_now  # few places are URLs

    try:
        reply = fetch_now(url, limit=_MOST_BYTES, timeout_s=_TIMEOUT_S)
    except OSError:
        raise
    except UNUSABLE as error:
        raise OSError(str(error)) from error
    if reply.status != 200:
        raise OSError(f"HTTP {reply.status}")
    return reply.body


def _file(place: str) -> Path:
    """The file of the newest checkpoint in a place that is no URL."""
    path = expand_home(place)
    return path / "newest.checkpoint" if path.is_dir() else path


def _is_url(place: str) -> bool:
    return place.startswith(("http://", "https://"))


def _not_kept(place: str, error: OSError) -> InvalidInput:
    return InvalidInput.because(
        "file-unwritable",
        f"the checkpoint cannot be kept in {place}: {describe_write_error(_file(place), error)}",
        remedy="name a place where you may write, or change its permissions",
    )
