"""The seal of a run: one hash over its streams, whatever is held of them meanwhile."""

from __future__ import annotations

from hashlib import sha256

from failproof_es.ledger.seal import Seal, Sealing

STREAMS = [sha256(bytes([n])).digest()[:16] for n in range(50)]


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
