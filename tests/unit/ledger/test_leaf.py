"""What a leaf commits to: byte for byte as documented, and no two events alike."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from failproof_es.ledger.leaf import NoLeaf, leaf_hash

STREAM = bytes(range(16))
FIELDS = st.tuples(
    st.binary(min_size=16, max_size=16),
    st.integers(0, 2**63 - 1),
    st.binary(max_size=4),
    st.binary(max_size=4),
)


def test_a_leaf_is_hashed_as_the_format_says() -> None:
    written = (
        b"\x00failproof-es/event/1\n"
        + STREAM
        + (7).to_bytes(8, "big")
        + b"\x00\x06Scored"
        + (2).to_bytes(8, "big")
        + hashlib.sha256(b"{}").digest()
    )
    assert leaf_hash(STREAM, 7, b"Scored", b"{}") == hashlib.sha256(written).digest()


@given(FIELDS, FIELDS)
def test_two_events_have_one_hash_only_if_they_are_one(
    one: tuple[bytes, int, bytes, bytes], other: tuple[bytes, int, bytes, bytes]
) -> None:
    assert (leaf_hash(*one) == leaf_hash(*other)) == (one == other)


def test_bytes_that_move_from_the_topic_into_the_state_are_another_event() -> None:
    assert leaf_hash(STREAM, 1, b"Scored", b"{}") != leaf_hash(STREAM, 1, b"Scored{", b"}")


@pytest.mark.parametrize("stream", [b"", STREAM[:-1], STREAM + b"\0"])
def test_a_stream_id_of_another_length_is_refused(stream: bytes) -> None:
    with pytest.raises(ValueError, match="instead of 16"):
        leaf_hash(stream, 1, b"Scored", b"{}")


@pytest.mark.parametrize(("version", "topic"), [(-1, b"x"), (2**63, b"x"), (1, b"x" * 65_536)])
def test_a_version_or_topic_out_of_bounds_is_refused(version: int, topic: bytes) -> None:
    with pytest.raises(NoLeaf):
        leaf_hash(STREAM, version, topic, b"{}")
