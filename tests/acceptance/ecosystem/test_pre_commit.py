"""The hooks for pre-commit, run by pre-commit itself from a repository of their own.

`language: python` would install the package from a registry: here the program is that of this
environment (`language: system`). All else is as it ships.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import orjson
import pytest
from ruamel.yaml import YAML

from failproof_es.store.store import Store
from tests.acceptance.commands import (
    ROOT,
    environment,
    programs_of,
    write_configuration,
    write_suite,
)

PROGRAMS = Path(sys.executable).parent
HOOKS = ROOT / ".pre-commit-hooks.yaml"
WRONG = "pwned"
HOW = ("Passed", "Failed")
"""How a hook ends for the files whose names are right, and for the others."""


def git(folder: Path, *arguments: str) -> str:
    """A git command in a folder, without anybody's settings."""
    quiet = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    named = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(
        ["git", *named, *arguments],
        cwd=folder,
        env={"PATH": os.environ["PATH"], **quiet},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stdout.strip()


def hooks_repository(folder: Path) -> str:
    """A repository with the hooks as they ship, but run in this environment; its commit."""
    hooks = YAML(typ="safe").load(HOOKS)
    assert {hook["language"] for hook in hooks} == {"python"}
    folder.mkdir()
    for hook in hooks:
        hook["language"] = "system"
    (folder / ".pre-commit-hooks.yaml").write_bytes(orjson.dumps(hooks))
    git(folder, "init", "-q")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "hooks")
    return git(folder, "rev-parse", "HEAD")


@pytest.mark.slow
def test_changed_suites_and_configurations_are_checked_and_nothing_is_sent(
    store: Store, tmp_path: Path
) -> None:
    commit = hooks_repository(tmp_path / "hooks")
    work = tmp_path / "work"
    for each in ("suites", "configs"):
        (work / each).mkdir(parents=True)
    git(work, "init", "-q")
    write_suite(work / "suites", 2)
    nowhere = "http://127.0.0.1:9/v1"
    write_configuration(work, nowhere, prompts={"path": "../suites/suite.jsonl"})
    (work / "run.yaml").rename(work / "configs/run.yaml")
    hooks = [
        {"id": f"failproof-es-{name}", "exclude": wrong_or_right}
        for name in ("suites", "configuration")
        for wrong_or_right in (WRONG, f"^((?!{WRONG}).)*$")
    ]
    repository: dict[str, Any] = {"repo": str(tmp_path / "hooks"), "rev": commit, "hooks": hooks}
    (work / ".pre-commit-config.yaml").write_bytes(orjson.dumps({"repos": [repository]}))
    (work / "suites/$(touch pwned).jsonl").write_text('{"case_id": "a"}\n')
    (work / "configs/$(touch pwned).yaml").write_text("models: 4\n")
    git(work, "add", ".")
    variables = {
        **environment(store.url, PRE_COMMIT_HOME=str(tmp_path / "cache")),
        "PATH": programs_of(tmp_path),
    }
    done = subprocess.run(
        [PROGRAMS / "pre-commit", "run"],
        cwd=work,
        env=variables,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    ended = re.findall(r"^check (\w+).*\.(Passed|Failed)$", done.stdout, re.MULTILINE)
    assert ended == [(name, how) for name in ("suites", "configurations") for how in HOW], (
        done.stdout
    )
    assert "$(touch pwned).jsonl:1: suite_id" in done.stdout
    assert "$(touch pwned).yaml:1: models" in done.stdout
    assert not list(tmp_path.rglob("pwned"))
