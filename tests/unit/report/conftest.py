"""Charts of these tests are drawn in this process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from failproof_es.report.charts import svg
from failproof_es.report.charts.vega import svg_of


@pytest.fixture(scope="session", autouse=True)
def drawn_here() -> Iterator[None]:
    """In place of the child process, which unit tests may not start."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(svg._POOL, "call", svg_of)
        yield
