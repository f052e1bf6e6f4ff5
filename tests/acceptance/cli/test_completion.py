"""`completion`: the printed script completes in a real bash; `start --open` opens the report."""

from __future__ import annotations

import shutil
import subprocess
import sys
import webbrowser
from pathlib import Path

import orjson
import pytest

from failproof_es.store.store import Store
from tests.acceptance.commands import invoke, write_configuration, write_suite

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


@pytest.mark.slow
@pytest.mark.parametrize("browser", ["one", "none", "broken"])
def test_the_report_is_opened_when_the_run_has_ended_and_nothing_is_harmed_without_a_browser(
    store: Store, tmp_path: Path, mock_url: str, monkeypatch: pytest.MonkeyPatch, browser: str
) -> None:
    opened: list[str] = []

    def open_it(url: str) -> bool:
        opened.append(url)
        if browser == "broken":
            raise webbrowser.Error("no such program")
        return True

    monkeypatch.setattr(webbrowser, "open", open_it)
    shown = {"DISPLAY": None if browser == "none" else ":9", "BROWSER": None}
    write_suite(tmp_path, 2)
    write_configuration(tmp_path, mock_url)
    done = invoke(
        store.url, "start", "run.yaml", "--open", cwd=tmp_path, WAYLAND_DISPLAY=None, **shown
    )
    assert done.exit_code == 0, done.output
    (file,) = tmp_path.glob("*_acceptance.html")
    assert opened == ([] if browser == "none" else [file.as_uri()])
    assert (f"the report is {file}" in done.stderr) and ("no browser" in done.stderr) == (
        browser != "one"
    )
    trail = invoke(store.url, "audit", 1, cwd=tmp_path).stdout
    assert "FileWritten" in trail or "report" in trail


def test_a_report_that_cannot_be_written_leaves_the_outcome_of_the_run_to_be_told(
    store: Store, tmp_path: Path, mock_url: str
) -> None:
    write_suite(tmp_path, 1)
    write_configuration(tmp_path, mock_url, test_run={"name": "n" * 250})  # no file is named so
    done = invoke(store.url, "start", "run.yaml", "--open", "--json", "--quiet", cwd=tmp_path)
    assert done.exit_code == 1, done.output
    told = orjson.loads(done.stdout)
    assert (told["status"], told["counts"]["scored"], told["exit_code"]) == ("completed", 1, 1)
    assert "cannot be written" in done.stderr
    assert "`failproof-es report 1 -o FILE` writes it" in done.stderr
