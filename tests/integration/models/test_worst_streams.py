"""The worst streams that end by themselves, or are too long, cost little memory and little time."""

from __future__ import annotations

import pytest

from tests.integration.models.worst_replies import assert_it_costs_little_and_ends_in_time
from tests.servers.worst_server import STREAMED


@pytest.mark.slow
@pytest.mark.parametrize("kind", sorted(STREAMED))
@pytest.mark.thinned(fast=1, whole=2)
def test_the_worst_stream_costs_little_memory_and_ends_in_time(kind: str) -> None:
    assert_it_costs_little_and_ends_in_time(kind)
