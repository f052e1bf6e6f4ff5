"""Exports one run from the log as evidence, with everything that proves it, as of a checkpoint."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import orjson

from failproof_es.assurance.tree import stored_tree
from failproof_es.core.case import prompt_id, review_id
from failproof_es.ledger import bundle, checkpoint, note
from failproof_es.ledger.bundle import ProvenEvent
from failproof_es.ledger.contents import EvidenceError, Missing, NotProvenYet
from failproof_es.ledger.leaf import NoLeaf
from failproof_es.ledger.merkle import TILE_WIDTH, InvalidProof, multiproof
from failproof_es.ledger.note import Note, NoteError, PublicKey
from failproof_es.problems import InvalidInput
from failproof_es.store import ledger
from failproof_es.store.ledger import Connection, LeafRow, LedgerBroken
from failproof_es.store.reading.archives import require_attached
from failproof_es.store.reading.experiments import related_runs
from failproof_es.store.writing.recorder import query


def evidence(
    connection: Connection, run_id: UUID, size: int | None = None, key: PublicKey | None = None
) -> Iterator[bytes]:
    """The lines of the run's evidence bundle, as of one checkpoint: that of `size`, or the newest.

    With the log's public `key`, only checkpoints that it signed count, unless it signed none: the
    engine's login can put a foreign one into the database.

    What was committed behind that checkpoint is left out: later attempts, later reviews.
    Raises `NotProvenYet` when the run is not sealed, or its seal is not under that checkpoint;
    `EvidenceError` when it is not what was sealed and signed; `InvalidInput` when there is no
    checkpoint of that size.
    """
    found = read_run(connection, run_id, size, key)
    with readable_tree(found.size):
        events = list(_TreeAsOf(connection, found.size).prove(found.rows))
        indices = [each.index for each in events]
        proof = multiproof(stored_tree(connection).subtree, indices, found.size)
    yield from bundle.write(run_id, events, proof, found.signed)


@dataclass(frozen=True, slots=True)
class RunRows:
    """Every row that a run's evidence is made of, and the checkpoint that it is of."""

    signed: Note
    size: int
    """How many events the checkpoint signs. No row is of a later one."""
    rows: Sequence[LeafRow]
    """By their positions. Each is an event; whether it is as it was recorded is not looked at."""


def read_run(
    connection: Connection, run_id: UUID, size: int | None = None, key: PublicKey | None = None
) -> RunRows:
    """Read the rows of a run's evidence. Arguments and errors are those of `evidence`."""
    require_attached(connection, run_id)
    stored = _notes(connection, key)
    signed, size = _checkpoint(stored, size)
    with readable_tree(size):
        tree = _TreeAsOf(connection, size)
        own = list(_own_rows(connection, run_id))
        _check_signed(run_id, own, tree)
        rows = tree.holds([*own, *_rows_besides(connection, run_id, tree.holds(own))])
    require_attached(connection, run_id)  # else its evaluations may have left before they were read
    return RunRows(_with_cosignatures(stored, signed), size, rows)


@contextmanager
def readable_tree(size: int) -> Iterator[None]:
    """Tell as `EvidenceError` that a tree's tiles are gone, or are none."""
    try:
        yield
    except KeyError:
        raise EvidenceError(f"the tree of {size} events cannot be read: tiles are gone") from None
    except (InvalidProof, LedgerBroken) as error:
        raise EvidenceError(f"the tree of {size} events cannot be read: {error}") from None


# -- which checkpoint --------------------------------------------------------------------------


def _notes(connection: Connection, key: PublicKey | None) -> list[tuple[Note, int]]:
    """The well-formed checkpoints with their sizes, the largest last.

    Those that `key` signed, if there are any. `verify` names those that are skipped here.
    """
    found: list[tuple[Note, int]] = []
    good: list[tuple[Note, int]] = []
    for stored in ledger.checkpoints(connection):
        try:
            signed = note.parse(stored.note)
            found.append((signed, checkpoint.parse(signed.text).size))
            if key is not None:
                checkpoint.opened(signed, key)
                good.append(found[-1])
        except NoteError:
            continue
    return good or found


def _checkpoint(stored: Sequence[tuple[Note, int]], size: int | None) -> tuple[Note, int]:
    """The newest one, or that of a size; and its size."""
    if not stored:
        raise NotProvenYet(Missing.CHECKPOINT, "the log has no checkpoint")
    for signed, found in reversed(stored):
        if size in (None, found):
            return signed, found
    sizes = sorted({found for _, found in stored})[-10:]
    raise InvalidInput.because(
        f"the log has no checkpoint of {size} events",
        remedy=f"there are checkpoints of {', '.join(map(str, sizes))} events",
    )


def _with_cosignatures(stored: Sequence[tuple[Note, int]], signed: Note) -> Note:
    """The note with every signature that is stored for the same text."""
    for other, _ in stored:
        if other.text == signed.text:
            signed = signed.signed(*other.signatures)
    return signed


# -- which rows --------------------------------------------------------------------------------


def _own_rows(connection: Connection, run_id: UUID) -> Iterator[LeafRow]:
    """The run's own rows, its evaluations' among them. Raises `EvidenceError`."""
    with closing(ledger.run_rows(connection, run_id)) as rows:
        yield from map(_readable, rows)


def _rows_besides(
    connection: Connection, run_id: UUID, own: Sequence[LeafRow]
) -> Iterator[LeafRow]:
    """The run's prompts, what it carried over, its reviews, its attempts and overlapping runs."""
    prompts: dict[UUID, None] = {}
    carried_over: list[UUID] = []
    for row in own:
        if row.topic == b"CasesPlanned":
            for digest in _told(row, "digests", list):
                prompts[prompt_id(_hexadecimal(row, digest))] = None
        elif row.topic == b"CarriedOver":
            carried_over.append(_uuid(row, _told(row, "source_evaluation_id", str)))
    reviews = [review_id(UUID(bytes=stream)) for stream in {row.stream_id: None for row in own}]
    others = _others(connection, run_id, own)
    besides = [*prompts, *carried_over, *others, *reviews]
    with closing(ledger.stream_rows(connection, besides)) as rows:
        yield from map(_readable, rows)


def _others(connection: Connection, run_id: UUID, own: Sequence[LeafRow]) -> list[UUID]:
    """The other attempts and the overlapping runs, which belong in the bundle."""
    started = next((row for row in own if row.topic == b"RunStarted"), None)
    if started is None:
        return []
    if _value(started, "experiment") is None:
        configuration = _told(started, "configuration_digest", str)
        rows = connection.execute(query("attempts"), (configuration,))
        return [other for (other,) in rows if other != run_id]
    found = related_runs(connection, run_id)
    runs = [*found.attempts, *(each.run for each in found.overlapping)]
    return [UUID(each.run_id) for each in runs if each.run_id != str(run_id)]


def _check_signed(run_id: UUID, own: Sequence[LeafRow], tree: _TreeAsOf) -> None:
    """Raise `NotProvenYet` unless the run is sealed, and signed up to its seal.

    Events on the run's own stream after its seal may be signed later. Events of its evaluations
    may not: they belong under the seal.
    """
    of_run = [row for row in own if row.stream_id == run_id.bytes]
    sealed = max((row.position for row in of_run if row.topic == b"RunSealed"), default=None)
    if sealed is None:
        raise NotProvenYet(Missing.SEAL, "the log has no seal of the run")
    later = [
        row
        for row in own
        if row.position > tree.last and (row.stream_id != run_id.bytes or row.position <= sealed)
    ]
    if later:
        raise NotProvenYet(
            Missing.CHECKPOINT,
            f"{len(later)} of its events are behind the checkpoint of {tree.size} events",
        )


def _readable(row: LeafRow) -> LeafRow:
    try:
        row.check()
        row.topic.decode()
    except (NoLeaf, UnicodeDecodeError) as why:
        raise EvidenceError(f"the row of the event at {row} is not an event: {why}") from None
    return row


def _told(row: LeafRow, name: str, kind: type) -> Any:
    """The value of a field of an event. Raises `EvidenceError` unless it is a `kind`."""
    value = _value(row, name)
    if type(value) is not kind:
        raise EvidenceError(f"the event at {row} does not say its {name}")
    return value


def _value(row: LeafRow, name: str) -> Any:
    """The value of a field of an event, of any type; `None` where there is none."""
    try:
        return orjson.loads(row.state)[name]
    except (ValueError, KeyError, TypeError, IndexError):
        return None


def _hexadecimal(row: LeafRow, digest: Any) -> str:
    try:
        return bytes.fromhex(digest).hex()
    except (ValueError, TypeError):
        raise EvidenceError(f"the event at {row} plans something that is not a digest") from None


def _uuid(row: LeafRow, text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise EvidenceError(f"the event at {row} names something that is not a stream") from None


# -- where they stand in the tree ----------------------------------------------------------------


class _TreeAsOf:
    """Which events the tree of a size holds, by their positions."""

    def __init__(self, connection: Connection, size: int) -> None:
        self._connection = connection
        self.size = size
        self.last = self._last() if size else 0
        """The position of the last event that the tree holds."""

    def _last(self) -> int:
        number, place = divmod(self.size - 1, TILE_WIDTH)
        edge = ledger.tile(self._connection, 0, number)
        if edge is None or edge.positions is None or len(edge.positions) <= place:
            raise self._without(number)
        return edge.positions[place]

    def holds(self, rows: Iterable[LeafRow]) -> list[LeafRow]:
        """The rows that the tree holds, in its order. Rows behind its last event are left out."""
        there = (row for row in rows if row.position <= self.last)
        return sorted(there, key=lambda row: row.position)

    def prove(self, rows: Sequence[LeafRow]) -> Iterator[ProvenEvent]:
        """The rows (ascending) with their places. Raises `EvidenceError` if one has none."""
        left = iter(rows)
        row = next(left, None)
        for number, tile in enumerate(ledger.tiles(self._connection, 0)):
            if row is None:
                return
            if tile.tile != number:
                raise self._without(number)
            places = tile.positions or []
            while row is not None and row.position <= places[-1]:
                at = bisect_left(places, row.position)
                if places[at] != row.position:
                    raise EvidenceError(f"the event at {row} is in the log and not in the tree")
                yield ProvenEvent(
                    number * TILE_WIDTH + at, UUID(bytes=row.stream_id), row.version,
                    row.topic.decode(), row.state,
                )  # fmt: skip
                row = next(left, None)

    def _without(self, tile: int) -> EvidenceError:
        return EvidenceError(f"the tree of {self.size} events cannot be read: tile {tile} is gone")
