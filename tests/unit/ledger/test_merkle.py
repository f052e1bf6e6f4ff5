"""The fast tree against the definition, and against the vectors that other logs use."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from failproof_es.ledger import merkle
from failproof_es.ledger.merkle import EMPTY_ROOT, Frontier, InvalidProof, TileTree
from tests.unit.ledger import naive

LARGEST = 300
LEAVES = [bytes([n % 256, n // 256]) for n in range(LARGEST)]
HASHES = [naive.leaf_hash(leaf) for leaf in LEAVES]
ROOTS = [naive.root(LEAVES[:size]) for size in range(LARGEST + 1)]

# The leaves and roots that implementations of RFC 6962 share as test data.
KNOWN_LEAVES = [
    bytes.fromhex(text)
    for text in (
        *("", "00", "10", "2021", "3031", "40414243"),
        *("5051525354555657", "606162636465666768696a6b6c6d6e6f"),
    )
]
KNOWN_ROOTS = [
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]


def subtree(level: int, index: int) -> bytes:
    """Perfect subtrees of the naive tree."""
    begin = index << level
    return merkle.perfect_root(HASHES[begin : begin + (1 << level)])


@pytest.mark.parametrize("size", range(len(KNOWN_ROOTS)))
def test_the_roots_are_those_that_other_logs_compute(size: int) -> None:
    tree = Frontier()
    tree.extend(naive.leaf_hash(leaf) for leaf in KNOWN_LEAVES[:size])
    assert tree.root().hex() == KNOWN_ROOTS[size] == naive.root(KNOWN_LEAVES[:size]).hex()


def test_every_size_has_the_root_of_the_definition() -> None:
    tree = Frontier()
    for size in range(LARGEST):
        assert tree.root() == ROOTS[size] == merkle.tree_root(subtree, size)
        tree.append(HASHES[size])
        assert Frontier(tree.size, tree.roots).root() == tree.root()


def test_whole_tiles_appended_at_once_give_the_same_tree() -> None:
    tree = Frontier()
    tree.append(merkle.perfect_root(HASHES[:256]), level=8)
    tree.extend(HASHES[256:])
    assert tree.root() == ROOTS[LARGEST]
    with pytest.raises(ValueError, match="does not begin"):
        tree.append(HASHES[0], level=8)


def test_every_inclusion_proof_of_every_small_tree_is_that_of_the_definition() -> None:
    for size in range(1, 70):
        for index in range(size):
            proof = merkle.inclusion_proof(subtree, index, size)
            assert proof == naive.inclusion_path(index, LEAVES[:size])
            merkle.verify_inclusion(HASHES[index], index, size, proof, ROOTS[size])


def test_every_consistency_proof_of_every_small_tree_is_that_of_the_definition() -> None:
    for new in range(1, 70):
        for old in range(1, new + 1):
            proof = merkle.consistency_proof(subtree, old, new)
            assert proof == naive.consistency_path(old, LEAVES[:new])
            merkle.verify_consistency(old, ROOTS[old], new, ROOTS[new], proof)


@given(st.data())
def test_proofs_hold_at_any_size(data: st.DataObject) -> None:
    new = data.draw(st.integers(1, LARGEST))
    old = data.draw(st.integers(1, new))
    index = data.draw(st.integers(0, new - 1))
    inclusion = merkle.inclusion_proof(subtree, index, new)
    assert inclusion == naive.inclusion_path(index, LEAVES[:new])
    merkle.verify_inclusion(HASHES[index], index, new, inclusion, ROOTS[new])
    consistency = merkle.consistency_proof(subtree, old, new)
    assert consistency == naive.consistency_path(old, LEAVES[:new])
    merkle.verify_consistency(old, ROOTS[old], new, ROOTS[new], consistency)


@given(st.data())
def test_a_damaged_inclusion_proof_proves_nothing(data: st.DataObject) -> None:
    size = data.draw(st.integers(1, LARGEST))
    index = data.draw(st.integers(0, size - 1))
    proof = merkle.inclusion_proof(subtree, index, size)
    damaged, place, total = damage(data, proof, index, size)
    with pytest.raises(InvalidProof):
        merkle.verify_inclusion(HASHES[index], place, total, damaged, ROOTS[size])


def damage(
    data: st.DataObject, proof: list[bytes], index: int, size: int
) -> tuple[list[bytes], int, int]:
    kinds = ["longer", "other place"]
    if proof:
        kinds += ["shorter", "flipped", "doubled"]
    match data.draw(st.sampled_from(kinds)):
        case "longer":
            return [*proof, HASHES[0]], index, size
        case "other place":
            other = data.draw(st.integers(-2, size + 1).filter(lambda n: n != index))
            return proof, other, size
        case "shorter":
            return proof[:-1], index, size
        case "doubled":
            return [proof[0], *proof], index, size
        case _:
            at = data.draw(st.integers(0, len(proof) - 1))
            flipped = bytes([proof[at][0] ^ 1]) + proof[at][1:]
            return [*proof[:at], flipped, *proof[at + 1 :]], index, size


@given(st.data())
def test_a_damaged_consistency_proof_proves_nothing(data: st.DataObject) -> None:
    new = data.draw(st.integers(2, LARGEST))
    old = data.draw(st.integers(1, new - 1))
    proof = merkle.consistency_proof(subtree, old, new)
    kind = data.draw(st.sampled_from(["shorter", "longer", "old root", "new root", "swapped"]))
    old_root, new_root = ROOTS[old], ROOTS[new]
    if kind == "shorter":
        proof = proof[:-1]
    elif kind == "longer":
        proof = [*proof, HASHES[0]]
    elif kind == "old root":
        old_root = ROOTS[old - 1]
    elif kind == "new root":
        new_root = ROOTS[new - 1]
    else:
        old_root, new_root = new_root, old_root
    with pytest.raises(InvalidProof):
        merkle.verify_consistency(old, old_root, new, new_root, proof)


def test_no_proof_leads_backwards_or_out_of_an_empty_tree() -> None:
    merkle.verify_consistency(0, EMPTY_ROOT, 5, ROOTS[5], [])
    merkle.verify_consistency(5, ROOTS[5], 5, ROOTS[5], [])
    for old, old_root, proof in (
        (0, ROOTS[1], []),
        (0, EMPTY_ROOT, [HASHES[0]]),
        (6, ROOTS[6], []),
    ):
        with pytest.raises(InvalidProof):
            merkle.verify_consistency(old, old_root, 5, ROOTS[5], proof)


@given(st.integers(0, LARGEST), st.data())
def test_many_leaves_are_proven_at_once(size: int, data: st.DataObject) -> None:
    chosen = sorted(data.draw(st.sets(st.integers(0, size - 1)))) if size else []
    proof = merkle.multiproof(subtree, chosen, size)
    leaves = [HASHES[index] for index in chosen]
    assert merkle.root_from_multiproof(chosen, leaves, size, proof) == ROOTS[size]
    with pytest.raises(InvalidProof):
        merkle.root_from_multiproof(chosen, leaves, size, [*proof, HASHES[0]])
    if proof:
        with pytest.raises(InvalidProof):
            merkle.root_from_multiproof(chosen, leaves, size, proof[:-1])
    if chosen:
        assert (
            merkle.root_from_multiproof(chosen, [bytes(32), *leaves[1:]], size, proof)
            != ROOTS[size]
        )


@given(st.integers(1, LARGEST))
@example(255)
@example(256)  # the first full tile
@example(257)
def test_tiles_know_the_whole_tree(size: int) -> None:
    upper = [merkle.perfect_root(HASHES[at : at + 256]) for at in range(0, size - 255, 256)]
    rows = {0: HASHES[:size], 1: upper}

    def tile(level: int, index: int) -> bytes:
        return b"".join(rows[level][index * 256 : (index + 1) * 256])

    tree = TileTree(tile)
    assert merkle.tree_root(tree.subtree, size) == ROOTS[size]
    with pytest.raises(KeyError):
        tree.subtree(0, size)
