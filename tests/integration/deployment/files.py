"""The files that deploy the program, and the linters of their kinds."""

from __future__ import annotations

import os
import subprocess
import sysconfig
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson
import pytest
from ruamel.yaml import YAML

from tests.documented import ROOT

EXAMPLES = ROOT / "docs/examples/deployment"
UNIT = EXAMPLES / "systemd/failproof-es-worker@.service"
SIGNER = EXAMPLES / "systemd/failproof-es-signer.service"
UNITS = (UNIT, SIGNER)
MANIFESTS = sorted((EXAMPLES / "kubernetes").glob("*.yaml"))
PODS = [path for path in MANIFESTS if path.name != "key.yaml"]
SECRETS = ("administrator_password", "worker_password", "auditor_password")


def linter(name: str) -> str:
    """The program of this environment; the test is skipped, and says so, where it is missing."""
    path = Path(sysconfig.get_path("scripts")) / name
    if not path.exists():
        pytest.skip(f"NOT CHECKED BY ITS LINTER: {name} is not installed on this machine")
    return str(path)


def lint(
    *command: str | Path,
    cwd: Path = ROOT,
    content: str | None = None,
    variables: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a linter to its end."""
    return subprocess.run(
        [*map(str, command)],
        cwd=cwd,
        input=content,
        env={**os.environ, **(variables or {})},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def compose(folder: Path, **variables: str) -> dict[str, Any]:
    """What Docker Compose makes of `compose.yaml`, where these variables are set."""
    program = linter("docker-compose")
    checked = lint(
        program, "--profile", "*", "--project-directory", folder, "--file", ROOT / "compose.yaml",
        "config", "--format", "json", variables=variables,
    )  # fmt: skip
    assert checked.returncode == 0, checked.stderr
    found: dict[str, Any] = orjson.loads(checked.stdout)
    return found


def documents(path: Path) -> list[dict[str, Any]]:
    """The documents of a YAML file."""
    return list(YAML(typ="safe").load_all(path))
