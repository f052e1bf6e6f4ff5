"""The oldest Python that the README promises can install the versions that `make` installs."""

from __future__ import annotations

from importlib.metadata import distributions
from pathlib import Path

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
OLDEST = "3.11.0"
PINS = [
    Requirement(line)
    for line in (ROOT / ".ci/constraints.txt").read_text().splitlines()
    if line and not line.startswith("#")
]


def test_the_oldest_python_can_install_every_pinned_version() -> None:
    pinned = {canonicalize_name(pin.name): pin.specifier for pin in PINS}
    checked, refused = 0, []
    for installed in distributions():
        name = canonicalize_name(installed.metadata["Name"])
        if name in pinned and pinned[name].contains(installed.version, prereleases=True):
            checked += 1
            said = installed.metadata
            asks = said["Requires-Python"] if "Requires-Python" in said else ""  # noqa: SIM401
            if not SpecifierSet(asks).contains(OLDEST):
                refused.append(f"{name} {installed.version} needs Python {asks}")
    assert refused == []
    assert checked > 0.8 * len(pinned)
