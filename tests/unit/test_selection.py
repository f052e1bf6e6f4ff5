"""Which variants of a thinned test are in which set."""

from __future__ import annotations

from typing import cast

import pytest

from tests.selection import thin_variants


class Variant:
    """What is asked of an item of pytest."""

    def __init__(self, nodeid: str, *marks: pytest.MarkDecorator) -> None:
        self.nodeid = nodeid
        self.marks = {decorator.mark.name: decorator.mark for decorator in marks}

    def get_closest_marker(self, name: str) -> pytest.Mark | None:
        return self.marks.get(name)

    def add_marker(self, decorator: pytest.MarkDecorator) -> None:
        self.marks[decorator.mark.name] = decorator.mark


def sets_of(variants: list[Variant]) -> str:
    """A letter for each variant: in the fast set, slow, or wide."""
    thin_variants(cast(list[pytest.Item], variants))
    return "".join(
        "w" if "wide" in variant.marks else "s" if "slow" in variant.marks else "f"
        for variant in variants
    )


def variants_of(count: int, *marks: pytest.MarkDecorator) -> list[Variant]:
    return [Variant(f"test_a.py::test_b[{number}]", *marks) for number in range(count)]


@pytest.mark.parametrize(
    ("count", "fast", "whole", "sets"),
    [
        (6, 2, 4, "fswfsw"), (6, 1, 1, "fwwwww"), (6, 0, 2, "swwsww"), (3, 2, 9, "ffs"),
        (1, 1, 1, "f"), (4, 4, 4, "ffff"),
    ],
)  # fmt: skip
def test_variants_are_thinned_evenly(count: int, fast: int, whole: int, sets: str) -> None:
    variants = variants_of(count, pytest.mark.thinned(fast=fast, whole=whole))
    assert sets_of(variants) == sets


def test_a_slow_test_is_thinned_too() -> None:
    variants = variants_of(4, pytest.mark.slow, pytest.mark.thinned(whole=2))
    assert sets_of(variants) == "swsw"


def test_a_variant_that_is_marked_keeps_its_mark() -> None:
    thinned = pytest.mark.thinned(fast=2, whole=3)
    variants = variants_of(4, thinned)
    variants[0].add_marker(pytest.mark.slow)
    variants[1].add_marker(pytest.mark.wide)
    assert sets_of(variants) == "swff"


def test_a_test_that_is_not_thinned_keeps_every_variant() -> None:
    assert sets_of(variants_of(3)) == "fff"
