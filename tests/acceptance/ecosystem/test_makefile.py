"""`make` says itself which Python it needs, whoever named the one that it has."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

MAKEFILE = Path(__file__).parents[3] / "Makefile"
OLD = "#!/bin/sh\nexit 1\n"
"""A Python that is too old for the check of its version."""


@pytest.mark.parametrize("named", ["./python3.10", "python3.0", ""])
def test_a_python_that_is_too_old_or_missing_is_named(tmp_path: Path, named: str) -> None:
    shutil.copy(MAKEFILE, tmp_path)
    (tmp_path / "python3.10").write_text(OLD)
    (tmp_path / "python3.10").chmod(0o755)
    done = subprocess.run(
        ["make", ".venv/created", f"PYTHON={named}"],
        cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 2 and not (tmp_path / ".venv").exists()
    which = f"{named} is no Python >= 3.11" if named else "no Python >= 3.11 found"
    assert done.stderr.startswith(f"make: {which}; ")
    assert "make PYTHON=/path/to/python3" in done.stderr
