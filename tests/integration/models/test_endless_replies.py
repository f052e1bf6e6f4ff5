"""Replies that nothing but a time-out ends are ended by it, and cost little memory."""

from __future__ import annotations

import pytest

from tests.integration.models.worst_replies import assert_it_costs_little_and_ends_in_time
from tests.servers.worst_server import ENDLESS


@pytest.mark.slow
@pytest.mark.parametrize("kind", sorted(ENDLESS))
@pytest.mark.thinned(fast=1, whole=2)
def test_an_endless_reply_costs_little_memory_and_ends_in_time(kind: str) -> None:
    assert_it_costs_little_and_ends_in_time(kind)
