"""The source package, installed by pip with the oldest interpreter."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.acceptance.ecosystem.installing import Packages, check_installation


@pytest.mark.wide
def test_the_source_package_installs_into_an_empty_environment(
    packages: Packages, tmp_path: Path
) -> None:
    check_installation("3.11", packages, tmp_path, by_pip=True)
