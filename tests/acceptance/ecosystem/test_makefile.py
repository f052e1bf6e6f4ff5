"""`make` names the Python that it needs, and installs from the index that pip is to use."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
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


INSTALLS = f"""#!/bin/sh
case "$0 $*" in *" config list") exec "{sys.executable}" "$@" ;; esac
echo "${{0##*/}} $*" >> installs.log
"""
"""A command of `.venv` that logs what it would install; pip itself lists its configuration."""


@pytest.mark.parametrize("setting", ["PIP_INDEX_URL", ""])
def test_uv_installs_only_where_pip_names_no_index(tmp_path: Path, setting: str) -> None:
    shutil.copy(MAKEFILE, tmp_path)
    (tmp_path / ".ci").mkdir()
    (tmp_path / ".venv/bin").mkdir(parents=True)
    for name in ("pyproject.toml", ".ci/constraints.txt", ".venv/created"):
        (tmp_path / name).touch()
    for name in ("python", "uv"):
        (tmp_path / ".venv/bin" / name).write_text(INSTALLS)
        (tmp_path / ".venv/bin" / name).chmod(0o755)
    unset = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
    environment = (
        unset | {"PIP_CONFIG_FILE": os.devnull} | ({setting: "http://h"} if setting else {})
    )
    subprocess.run(
        ["make", ".venv/installed"], cwd=tmp_path, env=environment, timeout=60, check=True
    )
    installs = (tmp_path / "installs.log").read_text()
    assert ("uv pip install" in installs) == (not setting)
