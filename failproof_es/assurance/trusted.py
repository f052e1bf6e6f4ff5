"""Checkpoints kept outside the database: what the log is held to when nobody is trusted.

A place is a file, a folder (which keeps every checkpoint it ever saw) or an URL (which
somebody else keeps, and is only read).
"""

from __future__ import annotations

from pathlib import Path

from failproof_es.assurance.signing_key import own_file
from failproof_es.assurance.tree import stored_tree
from failproof_es.ledger import checkpoint, note
from failproof_es.ledger.checkpoint import Checkpoint
from failproof_es.ledger.merkle import InvalidProof, consistency_proof, verify_consistency
from failproof_es.ledger.note import Note, NoteError, PublicKey
from failproof_es.problems import InvalidInput
from failproof_es.store.ledger import Connection
from failproof_es.web.client import UNUSABLE, fetch_now
from failproof_es.whole_file import write_whole

_TIMEOUT_S = 10.0
_MOST_BYTES = 1 << 20


class Forked(Exception):
    """The log does not continue a checkpoint that was kept."""


def default_place(origin: str) -> Path:
    """Where this user's own trusted checkpoint of the log is kept."""
    return own_file(origin, "checkpoint")


def read_kept(place: str, key: PublicKey) -> Checkpoint | None:
    """The newest checkpoint in a place; `None` where nothing is kept yet.

    Raises `InvalidInput` when what is there is not signed by the log, or cannot be read.
    """
    try:
        text = _read(place)
        return None if text is None else checkpoint.opened(note.parse(text), key)
    except (OSError, UnicodeDecodeError, NoteError, *UNUSABLE) as error:
        why = f"no answer within {_TIMEOUT_S:g} s" if isinstance(error, TimeoutError) else error
        raise InvalidInput.because(
            f"the checkpoint kept in {place} cannot be used: {why}",
            remedy="if nobody changed it, the log's key is another one now; ask why",
        ) from None


def check_continues(connection: Connection, kept: Checkpoint, newest: Checkpoint) -> None:
    """Raise `Forked` unless the tree in the database, which `newest` signs, continues `kept`."""
    if kept.origin != newest.origin:
        raise Forked(f"kept is a checkpoint of {kept.origin}; this log is {newest.origin}")
    if kept.size > newest.size:
        raise Forked(
            f"the checkpoint kept signs {kept.size} events, this log's newest only "
            f"{newest.size}: the tail was cut, or an older backup restored"
        )
    try:
        proof: list[bytes] = []
        if 0 < kept.size < newest.size:
            proof = consistency_proof(stored_tree(connection).subtree, kept.size, newest.size)
        verify_consistency(kept.size, kept.root, newest.size, newest.root, proof)
    except (InvalidProof, KeyError):
        raise Forked(
            f"this log's first {kept.size} events are not those of the checkpoint kept"
        ) from None


def keep(place: str, signed: Note, size: int) -> None:
    """Put a checkpoint, which was checked, into a file or a folder, whole or not at all."""
    if _is_url(place):
        return
    path = Path(place).expanduser()
    try:
        if path.is_dir():
            write_whole(path / f"{size:020}.checkpoint", [str(signed).encode()])
            path = path / "newest.checkpoint"
        write_whole(path, [str(signed).encode()])
    except OSError as error:
        raise InvalidInput.because(
            f"the checkpoint cannot be kept in {place}: {error}", remedy="choose another place"
        ) from None


def _read(place: str) -> str | None:
    if _is_url(place):
        reply = fetch_now(place, limit=_MOST_BYTES, timeout_s=_TIMEOUT_S)
        if reply.status != 200:
            raise OSError(f"HTTP {reply.status}")
        return reply.body.decode()
    path = Path(place).expanduser()
    if path.is_dir():
        path = path / "newest.checkpoint"
    return path.read_bytes()[:_MOST_BYTES].decode() if path.exists() else None


def _is_url(place: str) -> bool:
    return place.startswith(("http://", "https://"))
