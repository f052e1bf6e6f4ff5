"""Taking one run out of the log, with everything that proves it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from uuid import UUID

import orjson

from failproof_es.assurance.tree import stored_tree
from failproof_es.case import prompt_id, review_id
from failproof_es.ledger import bundle, checkpoint, note
from failproof_es.ledger.bundle import ProvenEvent
from failproof_es.ledger.contents import EvidenceError
from failproof_es.ledger.merkle import TILE_WIDTH, multiproof
from failproof_es.ledger.note import Note
from failproof_es.store import ledger
from failproof_es.store.experiments import runs_alike
from failproof_es.store.ledger import Connection, LeafRow
from failproof_es.store.recorder import query


class NotSigned(EvidenceError):
    """Nobody changed anything: the run is not, or not whole, under the checkpoint."""


def evidence(connection: Connection, run_id: UUID, size: int | None = None) -> Iterator[bytes]:
    """The lines of the run's evidence bundle, under the checkpoint of `size` or the newest one.

    It holds what the log held then: of other attempts and of reviews, those so far. Raises
    `NotSigned` when the run is not whole under that checkpoint, and `EvidenceError` when it
    is not sealed, or was changed.
    """
    signed = _checkpoint(connection, size)
    size = checkpoint.parse(signed.text).size
    last = _last_position(connection, size)
    rows = []
    for row in sorted(_rows(connection, run_id), key=lambda row: row.position):
        if row.position <= last:
            rows.append(row)
        elif row.run_id == run_id.bytes:
            raise NotSigned(
                f"it is not whole under the checkpoint of {size} events: take a later one, or "
                "make one with `failproof-es ledger checkpoint`"
            )
    events = _proven(rows, _indices(connection, [row.position for row in rows]))
    proof = multiproof(stored_tree(connection).subtree, [each.index for each in events], size)
    yield from bundle.write(run_id, events, proof, _with_cosignatures(connection, signed))


def _checkpoint(connection: Connection, size: int | None) -> Note:
    if size is None:
        stored = ledger.newest_checkpoint(connection)
        if stored is None:
            raise NotSigned("nothing is signed yet: run `failproof-es ledger checkpoint`")
    else:
        stored = ledger.checkpoint_of(connection, size)
        if stored is None:
            raise NotSigned(f"the log has no checkpoint of {size} events")
    return note.parse(stored.note)


def _last_position(connection: Connection, size: int) -> int:
    """The position of the last event in the tree of that size."""
    if size == 0:
        return 0
    number, place = divmod(size - 1, TILE_WIDTH)
    tile = ledger.tile(connection, 0, number)
    there = (tile and tile.positions) or []
    if place >= len(there):
        raise EvidenceError(f"the tree in the database does not reach to {size} events")
    return there[place]


def _rows(connection: Connection, run_id: UUID) -> Iterator[LeafRow]:
    """The run, its prompts, what it carried over, its reviews so far, and the runs that asked the
    same or much of it.

    Of those other runs their own streams.
    """
    digests: list[str] = []
    reviews: dict[bytes, UUID] = {}
    carried_over: list[UUID] = []
    started: dict[str, Any] = {}
    for row in ledger.run_rows(connection, run_id):
        if row.topic == b"CasesPlanned":
            digests += orjson.loads(row.state)["digests"]
        elif row.topic == b"RunStarted":
            started = orjson.loads(row.state)
        elif row.topic == b"CarriedOver":
            carried_over.append(UUID(orjson.loads(row.state)["source_evaluation_id"]))
        if row.stream_id not in reviews:
            reviews[row.stream_id] = review_id(UUID(bytes=row.stream_id))
        yield row
    others = _others(connection, run_id, started)
    prompts = list(dict.fromkeys(prompt_id(digest) for digest in digests))
    besides = [*prompts, *carried_over, *others, *reviews.values()]
    yield from ledger.stream_rows(connection, besides)


def _others(connection: Connection, run_id: UUID, started: dict[str, Any]) -> list[UUID]:
    """The runs that a bundle counts and names beside its own, by what that one recorded."""
    if started.get("experiment") is None:
        rows = connection.execute(query("attempts"), (started["configuration_digest"],))
        return [other for (other,) in rows if other != run_id]
    found = runs_alike(connection, run_id)
    runs = [*found.attempts, *(each.run for each in found.overlapping)]
    return [UUID(each.run_id) for each in runs if each.run_id != str(run_id)]


def _indices(connection: Connection, positions: Sequence[int]) -> list[int]:
    """Where in the tree the events at these positions (ascending) stand."""
    indices: list[int] = []
    for tile in ledger.tiles(connection, 0):
        there = tile.positions or []
        while len(indices) < len(positions) and positions[len(indices)] <= there[-1]:
            place = bisect_left(there, positions[len(indices)])
            if there[place] != positions[len(indices)]:
                raise EvidenceError(
                    f"the event at position {positions[len(indices)]} is not in the tree: "
                    "`failproof-es verify` says what was changed"
                )
            indices.append(tile.tile * TILE_WIDTH + place)
    return indices


def _proven(rows: Iterable[LeafRow], indices: Iterable[int]) -> list[ProvenEvent]:
    return [
        ProvenEvent(index, UUID(bytes=row.stream_id), row.version, row.topic.decode(), row.state)
        for row, index in zip(rows, indices, strict=True)
    ]


def _with_cosignatures(connection: Connection, signed: Note) -> Note:
    """The note with every signature that the database holds for the same text."""
    for stored in ledger.checkpoints(connection):
        other = note.parse(stored.note)
        if other.text == signed.text:
            signed = signed.signed(*other.signatures)
    return signed
