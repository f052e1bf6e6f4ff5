"""Verifies the trees that a repair replaced."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence

from failproof_es.assurance.checking.findings import (
    HISTORY_FORKED,
    REPLACED_TREE,
    TREE_CHANGED,
    SupersededTree,
    Verification,
    VerificationFinding,
)
from failproof_es.assurance.checking.old_tree import Leaves, OldTreeResult, SignedRoot, check_tree
from failproof_es.assurance.tree_history import Trees
from failproof_es.events import LedgerFinding, LedgerRepaired
from failproof_es.ledger import checkpoint as checkpoints
from failproof_es.ledger import note
from failproof_es.ledger.checkpoint import Checkpoint
from failproof_es.ledger.handover import successor
from failproof_es.ledger.leaf import NoLeaf
from failproof_es.ledger.merkle import split
from failproof_es.ledger.note import NoteError, PublicKey
from failproof_es.store import ledger
from failproof_es.store.ledger import Connection, LedgerBroken, LogTree


def verify_replaced(
    connection: Connection,
    trees: Trees,
    keys: Mapping[str, PublicKey],
    trusted: Sequence[Checkpoint],
    result: Verification,
) -> None:
    """Compare the log with what was signed over each replaced tree.

    The rows were already compared with the current tree, whose leaves represent them here.
    """
    if not trees.replaced:
        return
    log = _leaves_of_the_own_tree(connection)
    for old, repair in trees.replaced:
        remarks: list[str] = []
        vouched_for = _handover_is_signed(repair, keys, result, remarks)
        signed = [
            *signed_in_database(connection, old, keys.get(old.origin), remarks, repair),
            *(
                externally_kept(checkpoint)
                for checkpoint in trusted
                if checkpoint.origin == old.origin
            ),
        ]
        no_tiles: list[str] = []
        tiles = ledger.leaf_tiles(connection, old.number, no_tiles.append)
        checked = check_tree(tiles, signed, log, result.add)
        unknown = stray_tiles(no_tiles, repair.findings, old.origin)
        for finding in unknown:
            result.add(finding)
        if no_tiles and not unknown:
            remarks.append(f"left out of it: {no_tiles[0]} ({len(no_tiles)} such)")
        intact = checked.intact and not unknown and _is_all_there(repair, checked, result)
        if checked.events > checked.signed_size:
            behind = checked.events - checked.signed_size
            remarks.append(f"the last {behind:,} of its events were never signed under it")
        if intact:
            result.anchored_size = max(result.anchored_size, checked.anchored_events)
        result.replaced.append(
            SupersededTree(
                old.origin, repair.new_origin, repair.timestamp, repair.who, repair.where,
                repair.reason, checked.events, checked.signed_size, checked.anchored_size,
                vouched_for, intact, tuple(remarks),
            )
        )  # fmt: skip


def externally_kept(checkpoint: Checkpoint) -> SignedRoot:
    """The signed root of a checkpoint that is kept outside the database."""
    said_by = f"the checkpoint of {checkpoint.origin} kept outside"
    return SignedRoot(checkpoint.size, checkpoint.root, said_by, outside=True)


def signed_in_database(
    connection: Connection,
    tree: LogTree,
    key: PublicKey | None,
    remarks: list[str],
    repair: LedgerRepaired | None = None,
) -> Iterable[SignedRoot]:
    """The old tree's signed roots, from the database and from the repair that replaced it.

    Without the key every well-formed checkpoint counts. With it, a checkpoint that it did not sign
    proves nothing, and `remarks` gets a line on it.
    """
    notes = {
        stored.note: stored.tree_size for stored in ledger.checkpoints(connection, tree.number)
    }
    if repair is not None and repair.old_checkpoint is not None:
        notes.setdefault(repair.old_checkpoint, repair.old_tree_size)
    signed_roots: dict[tuple[int, bytes], SignedRoot] = {}
    for text, size in notes.items():
        try:
            signed = note.parse(text)
            one = checkpoints.parse(signed.text) if key is None else checkpoints.opened(signed, key)
            if one.origin != tree.origin:
                raise NoteError(f"it is of {one.origin}")
        except NoteError as error:
            remarks.append(f"its checkpoint of size {size} proves nothing: {error}")
            continue
        said_by = f"the checkpoint of {tree.origin} in the database"
        signed_roots[one.size, one.root] = SignedRoot(one.size, one.root, said_by)
    return signed_roots.values()


def _leaves_of_the_own_tree(connection: Connection) -> Leaves:
    log = Leaves()
    last = 0
    # Where a tile of the tree is missing (already a finding), the rows give the leaves.
    with contextlib.suppress(LedgerBroken):
        for tile in ledger.tiles(connection, 0):
            for position, leaf in zip(tile.positions or (), split(tile.hashes), strict=False):
                log.add(position, leaf)
                last = position
    for row in ledger.leaf_rows(connection, last):
        # A row that cannot be an event is already a finding, and was never signed.
        with contextlib.suppress(NoLeaf):
            log.add(row.position, row.leaf())
    return log


def stray_tiles(
    no_tiles: Sequence[str], findings: Iterable[VerificationFinding | LedgerFinding], origin: str
) -> list[VerificationFinding]:
    """The findings for rows of an old tree that are not tiles.

    `findings` are those that the tree's repair recorded. If they name a changed tile, the damage is
    on record and is no new finding.
    """
    if any(finding.kind == TREE_CHANGED for finding in findings):
        return []
    return [
        VerificationFinding(REPLACED_TREE, f"{problem}; in the old tree {origin}")
        for problem in no_tiles
    ]


def _handover_is_signed(
    repair: LedgerRepaired,
    keys: Mapping[str, PublicKey],
    result: Verification,
    remarks: list[str],
) -> bool:
    """Whether the old key signed for the new one.

    Adds a finding where it names another key, or where the new key is not the one given.
    """
    new_key = keys.get(repair.new_origin)
    if new_key is not None and str(new_key) != repair.new_key:
        message = f"the repair of {repair.old_origin} names a different key of {new_key.name}"
        result.add(VerificationFinding(HISTORY_FORKED, message))
    if repair.handover is None:
        remarks.append("its key did not sign for the new tree")
        return False
    if repair.old_origin not in keys:
        remarks.append("not checked whether its key signed for the new tree: give that key")
        return False
    try:
        if str(successor(repair.handover, keys[repair.old_origin])) == repair.new_key:
            return True
        reason = "it names another one"
    except NoteError as error:
        reason = str(error)
    message = f"the key of {repair.old_origin} did not sign for the new tree: {reason}"
    result.add(VerificationFinding(HISTORY_FORKED, message))
    return False


def _is_all_there(repair: LedgerRepaired, checked: OldTreeResult, result: Verification) -> bool:
    if checked.events >= repair.old_tree_size:
        return True
    message = (
        f"the replaced tree {repair.old_origin} held {repair.old_tree_size} events when it was "
        f"replaced, and {checked.events} are kept of it"
    )
    result.add(VerificationFinding(REPLACED_TREE, message))
    return False
