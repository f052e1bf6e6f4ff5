"""The source package, installed by uv with each newer interpreter."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.acceptance.ecosystem.installing import Packages, check_installation


@pytest.mark.slow
@pytest.mark.parametrize("python", ["3.12", "3.13", "3.14"])
@pytest.mark.thinned(whole=1)
def test_the_source_package_installs_into_an_empty_environment(
    python: str, packages: Packages, tmp_path: Path
) -> None:
    check_installation(python, packages, tmp_path, by_pip=False)
