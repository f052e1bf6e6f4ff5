"""What is packed is found again as it was put in."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from failproof_es.ledger.packed import Digests, PackedMap, sorted_digests

KEYS = st.binary(min_size=3, max_size=3).map(lambda key: bytes(each % 3 for each in key))
"""Few different ones, of few different bytes."""


@given(st.lists(st.tuples(st.sampled_from("+-"), KEYS, st.binary(min_size=2, max_size=2))))
def test_records_are_a_dict_whose_keys_come_in_order(
    steps: list[tuple[str, bytes, bytes]],
) -> None:
    records, wanted = PackedMap(3, 2), dict[bytes, bytes]()
    for step, key, value in steps:
        if step == "+":
            assert records.add(key, value) == (key not in wanted)
            wanted.setdefault(key, value)
        else:
            assert records.pop(key) == wanted.pop(key, None)
        assert (key in records) == (key in wanted)
        assert records.find(key) == wanted.get(key)
    assert list(records.items()) == sorted(wanted.items())
    assert (len(records), list(records)) == (len(wanted), sorted(wanted))


def test_a_key_that_lies_across_two_others_is_not_found_there() -> None:
    records = PackedMap(3)
    for key in (b"\0\1\0", b"\0\0\2"):
        records.add(key)
    assert b"\0\0\0" not in records
    assert records.add(b"\0\0\0")
    assert b"\0\0\0" in records


@pytest.mark.parametrize("key", [b"", b"\0", b"\0\0", b"\0\0\0\0"])
def test_a_key_of_another_length_is_not_found(key: bytes) -> None:
    records = PackedMap(3)
    records.add(b"\0\0\0")
    assert (key in records, records.find(key), records.pop(key)) == (False, None, None)


@given(st.lists(st.lists(st.binary(min_size=32, max_size=32))))
def test_digests_are_the_list_that_was_read(lists: list[list[bytes]]) -> None:
    listed = [[each.hex() for each in some] for some in lists]
    read = [Digests.read(some) for some in listed]
    found = [each for each in read if each is not None]
    assert [list(each) for each in found] == listed
    assert [[*each.parts()] for each in found] == lists
    assert list(sorted_digests(found)) == sorted({each for some in listed for each in some})


@pytest.mark.parametrize(
    "value",
    [None, "0" * 64, {}, [1], ["0" * 63], ["0" * 65], ["A" * 64], ["0" * 32, "0" * 32],
     ["0" * 62 + " 0"], ["0" * 63 + "\uff10"], [["0" * 64]], [b"0" * 64]],
    ids=str,
)  # fmt: skip
def test_what_is_no_list_of_digests_in_lower_case_is_not_packed(value: Any) -> None:
    assert Digests.read(value) is None
