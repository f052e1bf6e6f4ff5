"""What the tests of workers share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest


@pytest.fixture
def workers() -> Iterator[ExitStack]:
    """Processes that are gone when the test is."""
    with ExitStack() as stack:
        yield stack
