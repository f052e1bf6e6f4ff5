"""A packed body is unpacked in bounded steps, whatever the pieces, and is whole or an error."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Sequence

import pytest

from failproof_es.web.coding import STEP_BYTES, Decompressor, Undecodable
from tests.every import every

TEXT = b"".join(b"%d naive \xc3\xa9\n" % n for n in range(300))


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


PACKED = {
    "gzip": (["gzip"], gzip.compress(TEXT)),
    "x-gzip": (["X-GZip"], gzip.compress(TEXT)),
    "gzip of several members": (["gzip"], gzip.compress(TEXT[:700]) + gzip.compress(TEXT[700:])),
    "deflate as zlib": (["deflate"], zlib.compress(TEXT)),
    "deflate without a header": (["deflate"], raw_deflate(TEXT)),
    "nothing": ([], TEXT),
    "identity": (["identity", ""], TEXT),
}
BROKEN = {
    "is no gzip": (["gzip"], b"abc", "not the gzip that it says"),
    "is deflate and says gzip": (["gzip"], zlib.compress(TEXT), "not the gzip"),
    "is damaged": (["gzip"], gzip.compress(TEXT)[:-6] + b"\0" * 6, "not the gzip"),
    "is cut off": (["gzip"], gzip.compress(TEXT)[:-1], "ends in the middle"),
    "is cut off in its header": (["gzip"], gzip.compress(TEXT)[:5], "ends in the middle"),
    "is one byte of deflate": (["deflate"], b"\x78", "ends in the middle"),
    "goes on after its end": (["gzip"], gzip.compress(TEXT) + b"more", "not gzip follow"),
    "goes on with zeros": (["gzip"], gzip.compress(TEXT) + bytes(8), "not gzip follow"),
    "has a second member cut off": (["gzip"], gzip.compress(TEXT) * 2 + b"\x1f", "the middle"),
    "goes on after its deflate": (["deflate"], zlib.compress(TEXT) + b"more", "follow the end"),
}


def unpacked(codings: Sequence[str], body: bytes, size: int) -> bytes:
    unpacking = Decompressor(codings)
    steps = []
    for at in range(0, len(body), size):
        for step in unpacking.feed(body[at : at + size]):
            assert len(step) <= STEP_BYTES or not unpacking.packed
            steps.append(step)
    unpacking.end()
    return b"".join(steps)


@every("how", PACKED)
@every("size", [1, 2, 3, 7, 100, 1_000_000])
def test_a_packed_body_is_the_same_whatever_pieces_it_comes_in(how: str, size: int) -> None:
    assert unpacked(*PACKED[how], size) == TEXT


@every("how", PACKED)
def test_a_packed_body_may_be_cut_anywhere(how: str) -> None:
    codings, body = PACKED[how]
    for cut in range(len(body) + 1):
        unpacking = Decompressor(codings)
        steps = [*unpacking.feed(body[:cut]), *unpacking.feed(body[cut:])]
        unpacking.end()
        assert b"".join(steps) == TEXT


@every("size", [1, 5, 1_000_000])
@every("how", BROKEN)
def test_a_body_that_is_not_what_it_says_is_an_error(how: str, size: int) -> None:
    codings, body, said = BROKEN[how]
    with pytest.raises(Undecodable, match=said):
        unpacked(codings, body, size)


@every(
    "codings", [["gzip", "gzip"], ["deflate", "gzip"], ["br"], ["zstd"], ["gzip"] * 1000, ["\x00"]]
)
def test_only_one_coding_is_taken_and_only_one_that_was_asked_for(codings: list[str]) -> None:
    with pytest.raises(Undecodable) as caught:
        Decompressor(codings)
    assert len(str(caught.value)) < 200


@every("steps", [0, 1, 2])
@every("more", [-1, 0, 1])
@every("pack", [gzip.compress, zlib.compress])
def test_a_body_that_ends_where_a_step_does_is_whole(
    steps: int, more: int, pack: Callable[[bytes], bytes]
) -> None:
    length = max(steps * STEP_BYTES + more, 0)
    coding = "gzip" if pack is gzip.compress else "deflate"
    assert unpacked([coding], pack(bytes(length)), 17) == bytes(length)


@pytest.mark.long
def test_a_bomb_is_unpacked_no_further_than_somebody_takes_it() -> None:
    bomb = gzip.compress(bytes(2**26))
    steps = Decompressor(["gzip"]).feed(bomb)
    assert sum(len(next(steps)) for _ in range(10)) == 10 * STEP_BYTES


@pytest.mark.long
def test_an_empty_body_is_whole_whatever_it_says_of_itself() -> None:
    assert unpacked(["gzip"], b"", 1) == b""
