"""The first command that somebody types who has uv and nothing else."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from tests.acceptance.ecosystem.installing import (
    PINS,
    UV,
    Packages,
    simple_index,
    uv_environment,
)


@pytest.mark.slow
@pytest.mark.wide
def test_the_quick_start_is_one_command_in_an_empty_environment(
    packages: Packages, tmp_path: Path
) -> None:
    home = Path(tempfile.mkdtemp(prefix="failproof-es-quickstart-"))
    home.chmod(0o755)  # the server is another user's where these tests are root's
    variables = uv_environment(home)
    program = ["--constraints", str(PINS), "failproof-es@9.8.7"]

    def uvx(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [str(UV), "tool", "run", "--index", index, *program, *arguments]
        return subprocess.run(
            command, cwd=tmp_path, env=variables, capture_output=True, text=True, timeout=540,
            check=False,
        )  # fmt: skip

    with simple_index(packages.wheel, tmp_path) as index:
        try:
            done = uvx("start", "quickstart")
            assert done.returncode == 0, done.stdout + done.stderr
            assert "checked 15 evaluations" in done.stdout
            assert "installing smollm2" in done.stderr
        finally:
            uvx("db", "stop")
            shutil.rmtree(home, ignore_errors=True)
