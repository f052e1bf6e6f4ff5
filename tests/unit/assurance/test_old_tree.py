"""What a replaced tree still proves: every leaf that was signed, and no leaf that was not."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from failproof_es.assurance.checking.findings import VerificationFinding
from failproof_es.assurance.checking.old_tree import Leaves, OldTreeResult, SignedRoot, check_tree
from failproof_es.ledger.checkpoint import Checkpoint, opened
from failproof_es.ledger.edge import Tile
from failproof_es.ledger.handover import handover, successor
from failproof_es.ledger.merkle import Frontier
from failproof_es.ledger.note import NoteError, SigningKey
from tests.unit.ledger import naive

Entry = tuple[int, bytes]


def entries(events: int) -> list[Entry]:
    """The log: every second position holds an event."""
    return [(2 * n + 1, naive.leaf_hash(n.to_bytes(8, "big"))) for n in range(events)]


def tiles(tree: Sequence[Entry], *sizes: int) -> list[Tile]:
    """The tiles that are stored when a tree of these leaves is signed at these sizes."""
    found = {}
    for size in (*sizes, len(tree)):
        for begin in range(0, size, 256):
            block = tree[begin : min(begin + 256, size)]
            hashes = b"".join(leaf for _, leaf in block)
            tile = Tile(0, begin // 256, len(block), hashes, [at for at, _ in block])
            found[tile.tile, tile.width] = tile
    return [found[place] for place in sorted(found)]


def signed(tree: Sequence[Entry], size: int, *, outside: bool = False) -> SignedRoot:
    frontier = Frontier()
    frontier.extend(leaf for _, leaf in tree[:size])
    return SignedRoot(size, frontier.root(), "the checkpoint", outside)


def check(
    log: Sequence[Entry], stored: Sequence[Tile], expected: Sequence[SignedRoot]
) -> tuple[OldTreeResult, list[VerificationFinding]]:
    leaves = Leaves()
    for position, leaf in log:
        leaves.add(position, leaf)
    found: list[VerificationFinding] = []
    return check_tree(iter(stored), expected, leaves, found.append), found


@pytest.mark.parametrize("again_at", [256, 65_536])
@pytest.mark.long
def test_a_tree_that_holds_the_log_twice_proves_the_log(again_at: int) -> None:
    log = entries(again_at + 300)
    tree = log[:again_at] + log
    sizes = (100, 256, again_at, again_at + 1, again_at + 257, len(tree) - 1)
    expected = [signed(tree, size, outside=size == len(tree) - 1) for size in sizes]
    result, found = check(log, tiles(tree, *sizes), expected)
    assert (result.intact, found) == (True, [])
    assert (result.events, result.signed_size) == (len(tree), len(tree) - 1)
    # The last event of the log is not under the checkpoint that is kept outside.
    assert (result.anchored_size, result.anchored_events) == (len(tree) - 1, len(log) - 1)


@pytest.mark.long
@given(
    st.lists(st.integers(0, 600), min_size=1, max_size=4),
    st.integers(1, 700),
    st.randoms(use_true_random=False),
)
def test_whatever_is_changed_in_what_was_signed_is_found(
    starts: list[int], events: int, rng: random.Random
) -> None:
    """The tree begins again at some events; then one event of the log is not what it was."""
    log = entries(events)
    tree = [entry for start in (0, *starts) for entry in log[: max(1, start)]] + log
    size = rng.randint(1, len(tree))
    expected = [signed(tree, size)]
    assert check(log, tiles(tree, size), expected)[0].intact
    victim = rng.randrange(events)
    position = log[victim][0]
    was_signed = any(at == position for at, _ in tree[:size])
    edited = [*log[:victim], (position, bytes(32)), *log[victim + 1 :]]
    deleted = [*log[:victim], *log[victim + 1 :]]
    for changed in (edited, deleted):
        result, found = check(changed, tiles(tree, size), expected)
        assert result.intact is not was_signed
        assert {each.position for each in found} == ({position} if was_signed else set())
    added = [*log[:victim], (position - 1, bytes(32)), *log[victim:]]
    result, found = check(added, tiles(tree, size), expected)
    goes_on_behind = any(at > position - 1 for at, _ in tree[:size])
    assert [each.position for each in found] == ([position - 1] if goes_on_behind else [])


def test_a_root_that_the_tiles_do_not_give_is_named() -> None:
    log = entries(600)
    stored = tiles(log, 300, 600)
    for wrong in (SignedRoot(300, bytes(32), "it"), SignedRoot(601, bytes(32), "it")):
        result, found = check(log, stored, [signed(log, 600), wrong])
        assert not result.intact
        assert f"it signs {wrong.size} events" in found[0].message
    without = [tile for tile in stored if tile.tile != 1]
    assert not check(log, without, [signed(log, 600)])[0].intact
    assert check(log, without, [signed(log, 256)])[0].intact


def test_a_wrong_tile_beside_the_right_one_does_not_hide_it() -> None:
    log = entries(600)
    stored = tiles(log, 300, 600)
    wrong = Tile(0, 2, 200, bytes(32 * 200), list(range(1, 201)))
    result, found = check(log, [*stored, wrong], [signed(log, 300), signed(log, 600)])
    assert (result.intact, found, result.signed_size) == (True, [], 600)


def test_what_was_never_signed_is_not_held_against_the_log() -> None:
    log = entries(600)
    forged = [*log[:500], *((position, bytes(32)) for position, _ in log[500:])]
    assert check(log, tiles(forged, 400), [signed(forged, 400)])[0].intact
    assert not check(log, tiles(forged, 501), [signed(forged, 501)])[0].intact


# -- from key to key ---------------------------------------------------------------------------

OLD, NEW = (SigningKey.generate(f"failproof-es/{name}") for name in ("old", "new"))


def test_the_old_key_names_the_new_one() -> None:
    assert successor(str(handover(OLD, NEW.public)), OLD.public) == NEW.public


@pytest.mark.parametrize(
    "document",
    [
        str(handover(SigningKey.generate(OLD.name), NEW.public)),
        str(handover(OLD, NEW.public)).replace(NEW.name, OLD.name),
        str(handover(NEW, OLD.public)),
        "not a note",
    ],
)
def test_what_the_old_key_did_not_sign_names_nobody(document: str) -> None:
    with pytest.raises(NoteError):
        successor(document, OLD.public)


def test_a_checkpoint_is_no_handover() -> None:
    signed_tree = Checkpoint(OLD.name, 1, bytes(32)).signed(OLD)
    with pytest.raises(NoteError, match="did not sign a handover"):
        successor(str(signed_tree), OLD.public)
    with pytest.raises(NoteError):
        opened(handover(OLD, NEW.public), OLD.public)
