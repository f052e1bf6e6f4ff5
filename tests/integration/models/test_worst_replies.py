"""The worst replies in one piece cost little memory and little time."""

from __future__ import annotations

import gzip

import pytest

from tests.integration.models.worst_replies import ROOT, assert_it_costs_little_and_ends_in_time
from tests.servers.worst_server import ENDLESS, KINDS, STREAMED, bomb


@pytest.mark.slow
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in STREAMED | ENDLESS])
@pytest.mark.thinned(fast=2, whole=5)
def test_the_worst_reply_costs_little_memory_and_ends_in_time(kind: str) -> None:
    assert_it_costs_little_and_ends_in_time(kind)


@pytest.mark.parametrize("unit", [b"\0", b"ab"])
def test_a_bomb_is_a_gzip_of_what_it_repeats(unit: bytes) -> None:
    assert gzip.decompress(bomb(unit, 3)) == unit * (3 * 2**20 // len(unit))


def test_the_page_says_how_many_there_are() -> None:
    page = (ROOT / "docs" / "reference" / "reply-bounds.md").read_text("utf-8")
    assert f"[{len(KINDS)} hostile replies](../../tests/servers/worst_server.py)" in page
