"""The list of what the package needs (CycloneDX), each at the version that the checks run with.

What is not pinned, as it does not go with what the checks need, is listed without a version.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import NormalizedName, canonicalize_name

EXTRAS = ("all", "aws", "azure", "google", "inspect", "local", "notebook")
PACKAGE = "failproof-es"


def write_sbom(constraints: Path, pyproject: Path, file: Path) -> int:
    """Write it, the same bytes for the same pins; returns how many packages are in it."""
    pins = {
        canonicalize_name(Requirement(line).name): line
        for line in constraints.read_text(encoding="utf-8").splitlines()
        if line and not line.startswith("#")
    }
    needed = sorted(set(_needed()))
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as requirements:
        requirements.write("\n".join(pins.get(name, name) for name in needed) + "\n")
        requirements.flush()
        subprocess.run(
            [
                sys.executable, "-m", "cyclonedx_py", "requirements", requirements.name,
                "--pyproject", str(pyproject), "--output-reproducible", "--of", "JSON",
                "--sv", "1.6", "-o", str(file),
            ],
            check=True,
            capture_output=True,
        )  # fmt: skip
    return len(needed)


def _needed() -> Iterator[NormalizedName]:
    """The names of all that the package needs with its extras, directly or not."""
    left, seen = [(PACKAGE, extra) for extra in ("", *EXTRAS)], set()
    while left:
        name, extra = asked = left.pop()
        if asked in seen:
            continue
        seen.add(asked)
        if name != PACKAGE:
            yield canonicalize_name(name)
        try:
            told = requires(name) or ()
        except PackageNotFoundError:  # an extra that this environment lacks: its pin counts
            continue
        for each in map(Requirement, told):
            if each.marker is None or each.marker.evaluate({"extra": extra}):
                of = canonicalize_name(each.name)
                left += [(of, wanted) for wanted in ("", *each.extras)]
