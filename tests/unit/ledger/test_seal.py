"""The seal of a run: one hash over its streams, whatever is held of them meanwhile."""

from __future__ import annotations

from hashlib import sha256

from hypothesis import given
from hypothesis import strategies as st

from failproof_es.ledger.seal import Seal, Sealing, WholeStreams

STREAMS = [sha256(bytes([n])).digest()[:16] for n in range(50)]

LEAF = st.binary(min_size=32, max_size=32)


def sealed(streams: list[bytes], *, closed_every: int | None) -> Seal:
    sealing = Sealing()
    for number, stream_id in enumerate(streams, 1):
        for version in range(number % 4 + 1):
            sealing.add(stream_id, sha256(stream_id + bytes([version])).digest())
        if closed_every is not None and number % closed_every == 0:
            sealing.close_streams()
    return sealing.seal()


def test_streams_that_are_closed_on_the_way_are_sealed_as_those_that_are_held() -> None:
    streams = sorted(STREAMS)
    held = sealed(streams, closed_every=None)
    assert (held.streams, held.events) == (50, sum(n % 4 + 1 for n in range(1, 51)))
    for closed_every in (1, 7, 25, 50):
        assert sealed(streams, closed_every=closed_every) == held


def test_no_streams_are_sealed_too() -> None:
    assert sealed([], closed_every=None) == Seal(0, 0, sha256(b"").digest())


@given(st.dictionaries(st.binary(min_size=16, max_size=16), st.lists(LEAF, min_size=1)), st.data())
def test_whole_streams_in_any_order_have_the_same_seal(
    streams: dict[bytes, list[bytes]], data: st.DataObject
) -> None:
    own, sealing = bytes(16), Sealing()
    streams[own] = [bytes(32)]
    for stream_id, leaves in streams.items():
        for leaf in leaves:
            sealing.add(stream_id, leaf)
    whole = WholeStreams()
    for stream_id in data.draw(st.permutations(sorted(streams))):
        if stream_id != own:
            whole.add(stream_id, streams[stream_id])
    assert whole.seal(own, streams[own]) == sealing.seal()
    assert list(whole.ids()) == sorted(set(streams) - {own})


def test_a_stream_that_is_added_twice_counts_once() -> None:
    once, twice = WholeStreams(), WholeStreams()
    for streams in (once, twice, twice):
        streams.add(b"s" * 16, [bytes(32)])
    assert once.seal(bytes(16), []) == twice.seal(bytes(16), [])
    assert len(once) == len(twice) == 1
