"""The published document is true: schemathesis asks every address of it in odd ways."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
def test_schemathesis_finds_no_violation(console_url: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [
            sys.executable, "-m", "schemathesis.cli", "run", f"{console_url}/openapi.json",
            "--checks", "all", "--max-examples", "40", "--workers", "1", "--no-color",
            "--phases", "examples,coverage,fuzzing", "--seed", "1",
        ],
        capture_output=True,
        text=True,
        timeout=540,
        check=False,
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
