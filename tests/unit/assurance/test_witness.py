"""What a second party cosigns: what continues what it saw, and what it saw, again."""

from __future__ import annotations

import pytest

from failproof_es.assurance.signing.witness import CosignRequest, cosign_request
from failproof_es.ledger.checkpoint import Checkpoint
from failproof_es.ledger.merkle import consistency_proof
from failproof_es.ledger.note import COSIGNATURE, Note, SigningKey
from failproof_es.problems import InvalidInput
from tests.unit.ledger import naive

LOG = SigningKey.generate("failproof-es/log")
WITNESS = SigningKey.generate("witness.example", COSIGNATURE)
LEAVES = [bytes([n]) for n in range(20)]


def tree(size: int, leaves: list[bytes] = LEAVES) -> Checkpoint:
    return Checkpoint(LOG.name, size, naive.root(leaves[:size]))


def subtree(level: int, index: int) -> bytes:
    return naive.root(LEAVES[index << level : index + 1 << level])


def request(old: int, new: int) -> CosignRequest:
    proof = consistency_proof(subtree, old, new) if 0 < old < new else []
    return CosignRequest(old, tuple(proof), tree(new).signed(LOG))


def cosign(asked: CosignRequest, seen: Checkpoint | None) -> Note:
    return cosign_request(asked, LOG.public, WITNESS, seen, 1_800_000_000)


@pytest.mark.parametrize("old", [0, 5, 13])
def test_the_same_checkpoint_is_cosigned_again_whatever_it_was_proven_from(old: int) -> None:
    asked = request(old, 13)
    first = cosign(asked, tree(old) if old else None)
    assert cosign(asked, tree(13)) == first
    assert first.verify(WITNESS.public) == 1_800_000_000


def test_another_tree_of_the_same_size_is_a_fork() -> None:
    rewritten = tree(13, [*LEAVES[:12], b"another"])
    with pytest.raises(InvalidInput, match=r"\[log-changed\]"):
        cosign(request(0, 13), rewritten)


def test_what_is_older_than_what_was_seen_is_told_as_that() -> None:
    with pytest.raises(InvalidInput, match=r"\[checkpoint-outdated\]"):
        cosign(request(0, 5), tree(13))


def test_what_proves_to_continue_something_else_is_asked_for_again() -> None:
    with pytest.raises(InvalidInput, match=r"\[checkpoint-gap\]"):
        cosign(request(5, 13), tree(7))
    assert cosign(request(7, 13), tree(7))
    with pytest.raises(InvalidInput, match=r"\[log-changed\]"):
        cosign(request(7, 13), tree(7, [b"another", *LEAVES]))
