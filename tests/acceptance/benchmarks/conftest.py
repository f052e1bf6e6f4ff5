"""The installation that all quick benchmarks of a process share."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator

import pytest

from tests.acceptance.benchmarks.quick import Shared, make_quick
from tests.benchmarks.installation import installation
from tests.conftest import fast_folder


@pytest.fixture(scope="session")
def benchmark_installation() -> Iterator[Shared]:
    """Its files are in memory where there is room: it waits for the disk as any that is set up."""
    folder = fast_folder()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(tempfile, "tempdir", None if folder is None else str(folder))
        begun = installation()
        one = begun.__enter__()
    try:
        yield Shared(one)
    finally:
        begun.__exit__(None, None, None)


@pytest.fixture(scope="module")
def quick(benchmark_installation: Shared) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        make_quick(patched, benchmark_installation)
        yield
