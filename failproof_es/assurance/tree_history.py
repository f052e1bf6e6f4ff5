"""The history of a log's trees: which repair replaced which, and which keys sign for them."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from failproof_es.assurance.signing.kept_checkpoints import Forked, read_kept
from failproof_es.assurance.signing.signing_key import own_public_key
from failproof_es.core.case import ledger_id
from failproof_es.events import LedgerRepaired
from failproof_es.ledger.handover import successor
from failproof_es.ledger.note import NoteError, PublicKey
from failproof_es.problems import InvalidInput
from failproof_es.store import ledger
from failproof_es.store.errors import UnreadableState
from failproof_es.store.ledger import Connection, LogTree
from failproof_es.store.mapper import decode


@dataclass(frozen=True, slots=True)
class Trees:
    """Every tree of a log, and the repairs that are on record."""

    trees: Sequence[LogTree]
    """The log's current tree comes last."""
    repairs: Sequence[LedgerRepaired]
    problems: Sequence[str]
    """Contradictions between the trees and the recorded repairs."""

    @property
    def current(self) -> LogTree:
        """The tree that is in use."""
        return self.trees[-1]

    @property
    def replaced(self) -> list[tuple[LogTree, LedgerRepaired]]:
        """The earlier trees, each with the repair that replaced it."""
        pairs = zip(self.trees, self.trees[1:], self.repairs, strict=False)
        return [(old, repair) for old, new, repair in pairs if _replaces_tree(repair, old, new)]

    def keys(self, *public_keys: PublicKey) -> dict[str, PublicKey]:
        """The log's public keys that can be derived from `public_keys`, by origin.

        A newer key is derived where the old one signed for it, an older key where the log records
        it and the newer key signs the log.
        """
        keys = {key.name: key for key in public_keys}
        for _, repair in self.replaced:
            if repair.old_origin in keys and repair.handover is not None:
                with contextlib.suppress(NoteError):
                    new = successor(repair.handover, keys[repair.old_origin])
                    keys.setdefault(new.name, new)
        for _, repair in reversed(self.replaced):
            if repair.new_origin in keys and repair.old_key is not None:
                with contextlib.suppress(NoteError):
                    old = PublicKey.parse(repair.old_key)
                    if old.name == repair.old_origin:
                        keys.setdefault(old.name, old)
        return keys


def own_public_keys(trees: Trees) -> dict[str, PublicKey]:
    """The log's public keys that can be derived from this user's own. Raises `InvalidInput`."""
    own = (own_public_key(tree.origin) for tree in trees.trees)
    return trees.keys(*(key for key in own if key is not None))


def refuse_replaced(trees: Trees, own: PublicKey, place: str) -> None:
    """Raise `Forked` where a place keeps a checkpoint of a tree that a repair replaced."""
    for origin, key in trees.keys(own).items():
        if origin == trees.current.origin:
            continue
        with contextlib.suppress(InvalidInput):
            if read_kept(place, key) is not None:
                raise Forked(
                    f"{place} keeps a checkpoint of {origin}, whose tree a repair replaced: "
                    f"`failproof-es verify --checkpoint {place}` shows whether it still holds; "
                    "keep checkpoints of the new tree in another place"
                )


def read_trees(connection: Connection) -> Trees:
    """Every tree of the log. Mismatches of trees and repairs are in `problems`."""
    trees = ledger.trees(connection)
    problems = [tree.unnamed for tree in trees if tree.unnamed]
    repairs: list[LedgerRepaired] = []
    for row in ledger.stream_rows(connection, [ledger_id()]):
        if row.topic != LedgerRepaired.__name__.encode():
            continue
        try:
            stream = UUID(bytes=row.stream_id)
            event = decode(LedgerRepaired.__name__, row.state, stream, row.version)
            assert isinstance(event, LedgerRepaired)
            repairs.append(event)
        except UnreadableState as error:
            problems.append(f"a repair on record cannot be read: {error}")
    if [tree.number for tree in trees] != list(range(len(trees))):
        problems.append("the trees of the log are not numbered one after the other")
    for place, new in enumerate(trees[1:]):
        if place >= len(repairs) or not _replaces_tree(repairs[place], trees[place], new):
            problems.append(f"the tree {new.origin} was begun without a recorded repair")
    problems += [
        f"a repair on record begins the tree {repair.new_origin}, and it is not there"
        for repair in repairs[len(trees) - 1 :]
    ]
    return Trees(trees, repairs, problems)


def _replaces_tree(repair: LedgerRepaired, old: LogTree, new: LogTree) -> bool:
    return (repair.old_origin, repair.new_origin) == (old.origin, new.origin)
