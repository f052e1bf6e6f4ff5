"""Exports one run from the log as evidence, with everything that proves it, as of a checkpoint."""

from __future__ import annotations

import hashlib
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from heapq import merge
from itertools import chain, takewhile
from typing import Any
from uuid import UUID

import orjson

from failproof_es.assurance.tree import stored_tree
from failproof_es.core.case import operations_id, prompt_id, review_id
from failproof_es.ledger import bundle, checkpoint, note
from failproof_es.ledger.contents import EvidenceError, Missing, NotProvenYet
from failproof_es.ledger.leaf import NoLeaf
from failproof_es.ledger.merkle import TILE_WIDTH, InvalidProof, multiproof
from failproof_es.ledger.note import Note, NoteError, PublicKey
from failproof_es.ledger.packed import PackedMap
from failproof_es.problems import InvalidInput
from failproof_es.store import ledger
from failproof_es.store.ledger import Connection, LeafRow, LedgerBroken
from failproof_es.store.reading.archives import require_attached
from failproof_es.store.reading.experiments import related_runs

_AT_ONCE = 200
"""Rows that one statement looks up and memory holds."""
_ID_BYTES = 16
_NOWHERE = -(1 << 63)
"""Smaller than every position."""


def evidence_lines(
    connection: Connection, run_id: UUID, size: int | None = None, key: PublicKey | None = None
) -> Iterator[bytes]:
    """The lines of the run's evidence bundle, as of the newest checkpoint or the one of `size`.

    With the log's public `key`, only checkpoints that it signed count, unless it signed none: the
    engine's login can write a foreign one into the database. Events behind the checkpoint are left
    out: later attempts, later reviews.

    Raises `NotProvenYet` when the run is not sealed, or its seal is not under that checkpoint;
    `EvidenceError` when the run is not what was sealed and signed; `InvalidInput` when there is no
    checkpoint of that size.
    """
    found_run = find_run(connection, run_id, size, key)
    reader, indices, held = bundle.EventReader(run_id), array("q"), hashlib.sha256()
    with still_attached(connection, run_id):
        for event in found_run.events():
            reader.add(event)
            indices.append(event.index)
            held.update(event.leaf_hash())
        with readable_tree(found_run.size):
            proof = multiproof(stored_tree(connection).subtree, indices, found_run.size)
        contents = reader.contents(found_run.events())
        again = _unchanged_events(found_run.events(), held.digest())
        yield from bundle.lines(contents, reader.count, again, proof, found_run.signed)


def _unchanged_events(events: Iterable[RowEvent], held: bytes) -> Iterator[RowEvent]:
    """The events of a second reading. Raises `EvidenceError` unless they hash to `held`."""
    digest = hashlib.sha256()
    for event in events:
        digest.update(event.leaf_hash())
        yield event
    if digest.digest() != held:
        raise EvidenceError("the run was changed while it was read")


class RowEvent:
    """An event of the log with its place in the tree; its leaf is computed once."""

    __slots__ = ("_leaf", "index", "state", "stream", "topic", "version")

    def __init__(self, row: LeafRow, index: int) -> None:
        self.index = index
        self.stream = row.stream_id
        self.version = row.version
        self.topic = row.topic.decode()
        self.state = row.state
        self._leaf = row.leaf()

    @property
    def stream_id(self) -> UUID:
        """The id of the event's stream."""
        return UUID(bytes=self.stream)

    def leaf_hash(self) -> bytes:
        """The leaf hash of the row."""
        return self._leaf


@dataclass(frozen=True, slots=True)
class RunRows:
    """The positions of the rows of a run's evidence, and the checkpoint that it is as of."""

    connection: Connection
    signed: Note
    size: int
    """Number of events that the checkpoint signs. All rows are among them."""
    positions: Sequence[int]
    """Ascending. A row that is needed for two reasons occurs twice."""

    def rows(self, place_of: PlaceOf) -> Iterator[tuple[LeafRow, int]]:
        """The rows with their leaf indices, in the order of the tree.

        The rows are valid events; their hashes are not compared with the tree. Raises
        `EvidenceError` for a row that is no event, is not in the tree, or whose tile cannot be
        read.
        """
        for first in range(0, len(self.positions), _AT_ONCE):
            batch = self.positions[first : first + _AT_ONCE]
            places = place_of(batch)
            # Read to the end before the first row is yielded: while rows are streaming, the
            # connection can do nothing else, not even roll back after an error of the caller.
            with readable_tree(self.size):
                with closing(ledger.rows_at(self.connection, batch)) as rows:
                    here = list(rows)
                yield from _rows_with_index(here, batch, places)

    def events(self) -> Iterator[RowEvent]:
        """The events with their leaf indices, looked up in the tiles from the first one on."""
        places = _TreeAsOf(self.connection, self.size).places()
        return (RowEvent(row, place) for row, place in self.rows(places))


Places = Sequence[int | Exception | None]
"""Leaf indices of rows: `None` for a row outside the tree, an error if its tile is unreadable."""
PlaceOf = Callable[[Sequence[int]], Places]
"""Returns the leaf indices of the next rows; positions ascend from call to call."""


def _rows_with_index(
    rows: Iterable[LeafRow], positions: Sequence[int], places: Places
) -> Iterator[tuple[LeafRow, int]]:
    at = came = 0
    for row in rows:
        _readable(row)
        at = bisect_left(positions, row.position, at)
        while at < len(positions) and positions[at] == row.position:
            place = places[at]
            if isinstance(place, Exception):
                raise place
            if place is None:
                raise EvidenceError(f"the event at {row} is in the log and not in the tree")
            yield row, place
            at += 1
            came += 1
    if came != len(positions):
        raise EvidenceError("the run was changed while it was read: an event left the log")


def find_run(
    connection: Connection, run_id: UUID, size: int | None = None, key: PublicKey | None = None
) -> RunRows:
    """Find the rows of a run's evidence. Arguments and errors are those of `evidence_lines`."""
    require_attached(connection, run_id)
    signed, size = checkpoint_as_of(connection, size, key)
    with readable_tree(size):
        last = _TreeAsOf(connection, size).last
        own = _OwnRows(run_id, last)
        with closing(ledger.run_rows(connection, run_id)) as rows:
            for row in rows:
                own.add(_readable(row))
        own.check_signed(size)
        parts = [own.positions, array("q")]
        with closing(
            ledger.stream_rows(connection, _other_streams(connection, run_id, own))
        ) as rows:
            for row in rows:
                _readable(row)
                if parts[-1] and row.position < parts[-1][-1]:
                    parts.append(array("q"))
                parts[-1].append(row.position)
    require_attached(connection, run_id)  # else its evaluations may have left before they were read
    positions = array("q", takewhile(lambda position: position <= last, merge(*parts)))
    return RunRows(connection, signed, size, positions)


@contextmanager
def still_attached(connection: Connection, run_id: UUID) -> Iterator[None]:
    """Raise `RunIsArchived` if the run was archived meanwhile, in place of `EvidenceError`."""
    try:
        yield
    except EvidenceError:
        require_attached(connection, run_id)
        raise
    require_attached(connection, run_id)


@contextmanager
def readable_tree(size: int) -> Iterator[None]:
    """Raise `EvidenceError` if tiles of the tree are missing or invalid."""
    try:
        yield
    except KeyError:
        raise EvidenceError(f"the tree of {size} events cannot be read: tiles are gone") from None
    except (InvalidProof, LedgerBroken) as error:
        raise EvidenceError(f"the tree of {size} events cannot be read: {error}") from None


# -- checkpoints ---------------------------------------------------------------------------------


def checkpoint_as_of(
    connection: Connection, size: int | None, key: PublicKey | None
) -> tuple[Note, int]:
    """The newest checkpoint, or the one of `size`, with every cosignature on record; and its size.

    Arguments and errors are those of `evidence_lines`.
    """
    stored = _notes(connection, key)
    signed, size = _checkpoint(stored, size)
    return _with_cosignatures(stored, signed), size


def _notes(connection: Connection, key: PublicKey | None) -> list[tuple[Note, int]]:
    """The well-formed checkpoints with their sizes, the largest last.

    Only those that `key` signed, if there are any. `verify` reports the ones skipped here.
    """
    parsed_notes: list[tuple[Note, int]] = []
    good: list[tuple[Note, int]] = []
    for stored in ledger.checkpoints(connection):
        try:
            signed = note.parse(stored.note)
            parsed_notes.append((signed, checkpoint.parse(signed.text).size))
            if key is not None:
                checkpoint.opened(signed, key)
                good.append(parsed_notes[-1])
        except NoteError:
            continue
    return good or parsed_notes


def _checkpoint(stored: Sequence[tuple[Note, int]], size: int | None) -> tuple[Note, int]:
    """The newest checkpoint, or the one of `size`; and its size."""
    if not stored:
        raise NotProvenYet(Missing.CHECKPOINT, "the log has no checkpoint")
    for signed, tree_size in reversed(stored):
        if size in (None, tree_size):
            return signed, tree_size
    sizes = sorted({tree_size for _, tree_size in stored})[-10:]
    raise InvalidInput.because(
        "no-checkpoint",
        f"the log has no checkpoint of {size} events",
        remedy=f"there are checkpoints of {', '.join(map(str, sizes))} events",
    )


def _with_cosignatures(stored: Sequence[tuple[Note, int]], signed: Note) -> Note:
    """The note with every signature that is stored for the same text."""
    for other, _ in stored:
        if other.text == signed.text:
            signed = signed.signed(*other.signatures)
    return signed


# -- rows ----------------------------------------------------------------------------------------


class _OwnRows:
    """Collects ids from a run's own rows that lead to the other rows; keeps only the first row."""

    def __init__(self, run_id: UUID, last: int) -> None:
        self.run_id = run_id
        self.started: LeafRow | None = None
        """The run's `RunStarted`, if the tree holds it."""
        self.positions = array("q")
        self.prompts = bytearray()
        self.carried_over = bytearray()
        self.streams = bytearray()
        """Ids of 16 bytes, concatenated, in all three; `carried_over` can hold an id twice."""
        self.trouble: EvidenceError | None = None
        """Why the ids of prompts or of carried-over evaluations cannot be read."""
        self._last_position = last
        self._sealed: int | None = None
        self._later = array("q")
        self._seen = PackedMap(_ID_BYTES), PackedMap(_ID_BYTES)

    def add(self, row: LeafRow) -> None:
        """Take in the next row."""
        own = row.stream_id == self.run_id.bytes
        if own and row.topic == b"RunSealed":
            self._sealed = row.position
        if row.position > self._last_position:
            self._later.append(row.position if own else _NOWHERE)
            return
        self.positions.append(row.position)
        prompts, streams = self._seen
        if streams.add(row.stream_id):
            self.streams += row.stream_id
        if self.started is None and row.topic == b"RunStarted":
            self.started = row
        if self.trouble is not None:
            return
        try:
            if row.topic == b"CasesPlanned":
                for digest in _require_field(row, "digests", list):
                    prompt = prompt_id(_hexadecimal(row, digest)).bytes
                    if prompts.add(prompt):
                        self.prompts += prompt
            elif row.topic == b"CarriedOver":
                self.carried_over += _uuid(
                    row, _require_field(row, "source_evaluation_id", str)
                ).bytes
        except EvidenceError as error:
            self.trouble = error

    def check_signed(self, size: int) -> None:
        """Raise `NotProvenYet` unless the run is sealed, and signed up to its seal.

        Events on the run's own stream after its seal may be signed later. Events of its evaluations
        may not: they belong under the seal.
        """
        sealed = self._sealed
        if sealed is None:
            raise NotProvenYet(Missing.SEAL, "the log has no seal of the run")
        if later := sum(position <= sealed for position in self._later):
            raise NotProvenYet(
                Missing.CHECKPOINT,
                f"{later} of its events are behind the checkpoint of {size} events",
            )


def _other_streams(connection: Connection, run_id: UUID, own: _OwnRows) -> Iterator[UUID]:
    """Ids of the other streams: the registered plan, prompts, carried-over evaluations, related
    runs, reviews."""
    if own.trouble is not None:
        raise own.trouble
    related_ids = _find_related_runs(connection, run_id, own.started)
    return chain(
        _registration(own.started),
        _ids(own.prompts), _ids(own.carried_over), related_ids, map(review_id, _ids(own.streams)),
    )  # fmt: skip


def _registration(started: LeafRow | None) -> Iterator[UUID]:
    """The stream of the registered plan that the run follows, if it names one."""
    if started is not None and (registration := _value(started, "registration")) is not None:
        if not isinstance(registration, dict):
            raise EvidenceError(f"the event at {started} names something that is no registration")
        yield operations_id(_uuid(started, str(registration.get("registration_id"))))


def _ids(packed: bytearray) -> Iterator[UUID]:
    return (
        UUID(bytes=bytes(packed[at : at + _ID_BYTES])) for at in range(0, len(packed), _ID_BYTES)
    )


def _find_related_runs(connection: Connection, run_id: UUID, started: LeafRow | None) -> list[UUID]:
    """The other attempts and the overlapping runs, which belong in the bundle."""
    if started is None:
        return []
    related = related_runs(connection, run_id)
    runs = [*related.attempts, *(overlap.run for overlap in related.overlapping)]
    return [UUID(run.run_id) for run in runs if run.run_id != str(run_id)]


def _readable(row: LeafRow) -> LeafRow:
    try:
        row.check()
        row.topic.decode()
    except (NoLeaf, UnicodeDecodeError) as why:
        raise EvidenceError(f"the row of the event at {row} is not an event: {why}") from None
    return row


def _require_field(row: LeafRow, name: str, kind: type) -> Any:
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


# -- leaf indices --------------------------------------------------------------------------------


def find_places(positions: Sequence[int], place: Callable[[int], int | None]) -> Places:
    """Leaf index of each position; from the first unreadable tile on, its error."""
    places: list[int | Exception | None] = []
    for position in positions:
        try:
            places.append(place(position))
        except (KeyError, InvalidProof, LedgerBroken, EvidenceError) as error:
            places += [error] * (len(positions) - len(places))
            break
    return places


class _TreeAsOf:
    """The tree of a given size, with the positions of its events."""

    def __init__(self, connection: Connection, size: int) -> None:
        self._connection = connection
        self.size = size
        self.last = self._last_position() if size else 0
        """The position of the last event that the tree holds."""

    def _last_position(self) -> int:
        number, place = divmod(self.size - 1, TILE_WIDTH)
        edge = ledger.tile(self._connection, 0, number)
        if edge is None or edge.positions is None or len(edge.positions) <= place:
            raise self._missing_tile(number)
        return edge.positions[place]

    def places(self) -> PlaceOf:
        """Lookup of leaf indices that reads each tile once, from the first one on."""
        tiles = enumerate(ledger.tiles(self._connection, 0))
        current: list[tuple[int, Sequence[int]]] = []

        def place(position: int) -> int | None:
            while not current or position > current[0][1][-1]:
                number, tile = next(tiles)
                if tile.tile != number:
                    raise self._missing_tile(number)
                current[:] = [(number, tile.positions or ())]
            number, there = current[0]
            at = bisect_left(there, position)
            return number * TILE_WIDTH + at if there[at] == position else None

        return lambda positions: find_places(positions, place)

    def _missing_tile(self, tile: int) -> EvidenceError:
        return EvidenceError(f"the tree of {self.size} events cannot be read: tile {tile} is gone")
