"""`completion`: the printed script completes in a real bash."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.acceptance.commands import invoke

BASH = shutil.which("bash")


def script(shell: str, folder: Path) -> str:
    done = invoke("", "completion", shell, cwd=folder)
    assert done.exit_code == 0
    return done.stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_a_script_that_asks_this_program(tmp_path: Path, shell: str) -> None:
    printed = script(shell, tmp_path)
    assert f"_FAILPROOF_ES_COMPLETE={shell}_complete" in printed
    assert "failproof-es" in printed


@pytest.mark.skipif(BASH is None, reason="needs bash")
@pytest.mark.parametrize(
    ("words", "completed"),
    [
        (["failproof-es", "sta"], ["start"]),
        (["failproof-es", "wor"], ["worker", "workers"]),
        (["failproof-es", "start", "--sam"], ["--sample"]),
        (["failproof-es", "completion", "z"], ["zsh"]),
    ],
)
def test_the_script_completes_in_bash(
    tmp_path: Path, words: list[str], completed: list[str]
) -> None:
    program = tmp_path / "bin" / "failproof-es"
    program.parent.mkdir()
    program.write_text(
        f"#!{sys.executable}\nfrom failproof_es.cli import main\nmain(prog_name='failproof-es')\n"
    )
    program.chmod(0o755)
    (tmp_path / "script").write_text(script("bash", tmp_path))
    line = (
        "set -eu; source ./script; "
        f"COMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1}; "
        f"_failproof_es_completion failproof-es {words[-1]} {words[-2]}; "
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    assert BASH is not None
    done = subprocess.run(
        [BASH, "--norc", "-c", line], cwd=tmp_path, capture_output=True, text=True, timeout=60,
        env={"PATH": f"{program.parent}:/usr/bin:/bin"}, check=False,
    )  # fmt: skip
    assert (done.stdout.split(), done.returncode) == (completed, 0), done.stderr
