"""Status of a log's ledger: its tree, its checkpoints, their signatures, and its unsigned events.

Nothing in the log is verified for this: `failproof-es verify` does that.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from failproof_es.assurance.event_proof import cosigners
from failproof_es.assurance.signing.kept_checkpoints import default_place, read_kept
from failproof_es.assurance.signing.signing_key import own_public_key
from failproof_es.assurance.signing.verified_positions import read_verified, verified_at
from failproof_es.assurance.tree import stored_tree
from failproof_es.assurance.tree_history import read_trees
from failproof_es.ledger import checkpoint, note
from failproof_es.ledger.merkle import TILE_WIDTH, tree_root
from failproof_es.ledger.note import NoteError, PublicKey
from failproof_es.problems import InvalidInput
from failproof_es.store import ledger
from failproof_es.store.ledger import Connection, DatedCheckpoint, LedgerBroken
from failproof_es.store.schema.protection_layers import missing_layers

Signed = Literal["by the log's key", "not by the log's key", "not checked", "not readable"]


@dataclass(frozen=True, slots=True)
class CheckpointStatus:
    """A checkpoint in the database. Its root is not compared with the tree."""

    tree_size: int
    root: str | None
    """In hexadecimal; `None` where the note is not readable."""
    signed: Signed
    why: str | None
    """Why the checkpoint does not count."""
    cosigners: tuple[str, ...]
    """Names in the other signatures, which are not checked."""
    recorded_at: datetime | None
    note: str


@dataclass(frozen=True, slots=True)
class ReplacedTree:
    """A tree that a recorded repair replaced."""

    origin: str
    new_origin: str
    repaired_at: datetime
    who: str
    reason: str


@dataclass(frozen=True, slots=True)
class LastVerification:
    """Result of this user's last `failproof-es verify` without findings."""

    at: datetime | None
    size: int
    """Events that the next `verify --incremental` need not read."""
    position: int
    """Position of the last of these events."""


@dataclass(frozen=True, slots=True)
class LedgerStatus:
    """Status of the ledger at this moment. Hashes are hexadecimal."""

    origin: str
    """The name that checkpoints are signed for; empty where the database has none."""
    public_key: str | None
    """Key that signatures are checked with; `None` where this user has none."""
    tree_size: int
    root: str | None
    """Root of the tree, from its tiles; `None` where they cannot be read."""
    behind_the_tree: int
    """Events that are not in the tree yet; an upper bound unless `counted`."""
    counted: bool
    """Whether `behind_the_tree` is exact. If not, the numbers made of it are upper bounds, too."""
    signed: int
    """Events under the newest checkpoint that counts."""
    anchored_outside: int | None
    """Events under the checkpoint kept outside the database; `None` where none is kept."""
    cosigners: tuple[str, ...]
    """Names in the other signatures of the newest checkpoint that counts."""
    checkpoints: tuple[CheckpointStatus, ...]
    """The largest trees first."""
    next_checkpoint: int | None
    """The `before` of the call that returns older checkpoints; `None` if there are none."""
    replaced: tuple[ReplacedTree, ...]
    verified: LastVerification | None
    missing_layers: tuple[str, ...]
    """Layers of protection that the database does not enforce."""
    problems: tuple[str, ...]
    """Problems that stop others from trusting this log: each is a reason to verify it."""

    @property
    def events(self) -> int:
        """All events of the log."""
        return self.tree_size + self.behind_the_tree

    @property
    def not_signed(self) -> int:
        """Number of events that the newest checkpoint that counts does not cover."""
        return max(self.events - self.signed, 0)

    @property
    def not_anchored(self) -> int:
        """Number of events that the checkpoint kept outside the database does not cover."""
        return max(self.events - (self.anchored_outside or 0), 0)


def ledger_status(
    connection: Connection, *, most: int = 20, before: int | None = None
) -> LedgerStatus:
    """Status of the ledger, with at most `most` checkpoints, of ids below `before`."""
    trees = read_trees(connection)
    problems = list(trees.problems)
    origin = trees.current.origin
    key: PublicKey | None = None
    kept_size: int | None = None
    verified: LastVerification | None = None
    if origin:
        try:
            key = own_public_key(origin)
            kept_checkpoint = None if key is None else read_kept(str(default_place(origin)), key)
            kept_size = None if kept_checkpoint is None else kept_checkpoint.size
            verified = _verified(origin)
        except InvalidInput as error:
            problems += [problem.message for problem in error.problems]
    size, root, last = _tree(connection, problems)
    newest = _newest_checkpoint(connection, key)
    behind = ledger.events_behind(connection, last)
    stored = ledger.dated_checkpoints(connection, limit=most + 1, before=before)
    return LedgerStatus(
        origin=origin,
        public_key=None if key is None else str(key),
        tree_size=size,
        root=root,
        behind_the_tree=behind.events,
        counted=behind.exact,
        signed=0 if newest is None else newest.tree_size,
        anchored_outside=kept_size,
        cosigners=() if newest is None else newest.cosigners,
        checkpoints=tuple(_checkpoint(dated_checkpoint, key) for dated_checkpoint in stored[:most]),
        next_checkpoint=stored[most - 1].checkpoint_id if len(stored) > most else None,
        replaced=tuple(
            ReplacedTree(old.origin, repair.new_origin, repair.timestamp, repair.who, repair.reason)
            for old, repair in trees.replaced
        ),
        verified=verified,
        missing_layers=tuple(layer.name for layer in missing_layers(connection)),
        problems=tuple(problems),
    )


def _verified(origin: str) -> LastVerification | None:
    verified = read_verified(origin)
    if verified is None:
        return None
    return LastVerification(verified_at(origin), verified.size, verified.position)


def _tree(connection: Connection, problems: list[str]) -> tuple[int, str | None, int]:
    """The tree's size and root, and the position of its last event."""
    try:
        last = ledger.last_tile(connection)
        if last is None or not last.positions:
            return 0, None, 0
        size = last.tile * TILE_WIDTH + last.width
        try:
            return size, tree_root(stored_tree(connection).subtree, size).hex(), last.positions[-1]
        except KeyError:
            problems.append(f"the tree of {size:,} events cannot be read: tiles are gone")
            return size, None, last.positions[-1]
    except LedgerBroken as error:
        problems.append(str(error))
        return 0, None, 0


def _newest_checkpoint(connection: Connection, key: PublicKey | None) -> CheckpointStatus | None:
    """The newest checkpoint that the log's key signed; without a key, the newest readable one."""
    dated = (
        DatedCheckpoint(0, stored.tree_size, stored.note, None)
        for stored in ledger.newest_checkpoints(connection)
    )
    return next(
        _valid_checkpoints(_checkpoint(dated_checkpoint, key) for dated_checkpoint in dated), None
    )


def _valid_checkpoints(statuses: Iterator[CheckpointStatus]) -> Iterator[CheckpointStatus]:
    return (status for status in statuses if status.signed in ("by the log's key", "not checked"))


def _checkpoint(stored: DatedCheckpoint, key: PublicKey | None) -> CheckpointStatus:
    size, text, at = stored.tree_size, stored.note, stored.recorded_at
    try:
        signed = note.parse(text)
        parsed_checkpoint = checkpoint.parse(signed.text)
    except NoteError as error:
        return CheckpointStatus(size, None, "not readable", str(error), (), at, _escape_text(text))
    root, cosigner_names = parsed_checkpoint.root.hex(), cosigners(signed, parsed_checkpoint.origin)
    if key is None:
        return CheckpointStatus(
            parsed_checkpoint.size, root, "not checked", None, cosigner_names, at, text
        )
    try:
        checkpoint.opened(signed, key)
    except NoteError as error:
        refused: Signed = "not by the log's key"
        return CheckpointStatus(
            parsed_checkpoint.size, root, refused, str(error), cosigner_names, at, text
        )
    return CheckpointStatus(
        parsed_checkpoint.size, root, "by the log's key", None, cosigner_names, at, text
    )


def _escape_text(text: str) -> str:
    """The first 2,000 characters of an unreadable note, lone surrogates escaped for JSON."""
    return text[:2000].encode(errors="backslashreplace").decode()
