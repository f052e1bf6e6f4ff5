"""Installing a release: an index on loopback, interpreters, empty environments."""

from __future__ import annotations

import contextlib
import functools
import http.server
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.acceptance.commands import ROOT

UV = Path(sys.executable).with_name("uv")
PINS = ROOT / ".ci/constraints.txt"
ARCHIVAL = "commit: $Format:%H$\ndescribe: $Format:%(describe:tags=true,match=v[0-9]*,abbrev=12)$\n"
"""The file as it is committed. In a copy that `git archive` made it says which commit that is."""


class Packages(NamedTuple):
    """The files of a release."""

    source: Path
    wheel: Path


@contextlib.contextmanager
def simple_index(wheel: Path, folder: Path) -> Iterator[str]:
    """An index on loopback with one package, laid out as PEP 503 says; its URL."""
    place = folder / "simple/failproof-es"
    place.mkdir(parents=True)
    shutil.copy(wheel, place)
    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/simple"
        server.shutdown()
        thread.join()


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves files and says nothing."""

    def log_message(self, format: str, *args: object) -> None: ...


def uv_environment(home: Path) -> dict[str, str]:
    """Variables for uv: its cache and ways to the registry stay, this program's folders do not."""
    kept = ("PATH", "HOME", "SSL_CERT_FILE", "http_proxy", "https_proxy", "no_proxy")
    ours = ("UV_", "PIP_")
    found = {n: each for n, each in os.environ.items() if n in kept or n.startswith(ours)}
    if "PIP_INDEX_URL" in os.environ:
        found.setdefault("UV_DEFAULT_INDEX", os.environ["PIP_INDEX_URL"])
    return {**found, "FAILPROOF_ES_HOME": str(home), "NO_COLOR": "1"}


def interpreter(version: str) -> Path | None:
    """An interpreter of this version that starts: on the path, or one that pyenv has."""
    named = shutil.which(f"python{version}")
    places = [Path(named)] if named else []
    places += sorted(Path.home().glob(f".pyenv/versions/{version}*/bin/python{version}"))
    for place in places:
        with contextlib.suppress(OSError):
            if subprocess.run([place, "-c", ""], capture_output=True, check=False).returncode == 0:
                return place
    return None


def check_installation(python: str, packages: Packages, folder: Path, *, by_pip: bool) -> None:
    """Install the source package with that interpreter into an empty environment, and ask it."""
    program = interpreter(python)
    if program is None:
        pytest.skip(f"there is no python{python} here; .github/workflows/test.yml has all of them")
    variables = uv_environment(folder / "home")
    environment = folder / "environment"
    own = environment / "bin/python"
    how: list[str | Path] = ["--constraint", PINS, packages.source]
    steps: list[list[str | Path]] = (
        [
            [program, "-m", "venv", environment],
            [own, "-m", "pip", "install", "--quiet", "--no-compile", *how],
        ]
        if by_pip
        else [
            [UV, "venv", "--quiet", "--python", program, environment],
            [UV, "pip", "install", "--quiet", "--python", own, *how],
        ]
    )
    for command in steps:
        done = subprocess.run(
            list(map(str, command)),
            env=variables, capture_output=True, text=True, timeout=540, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
    printed = subprocess.run(
        [environment / "bin/failproof-es", "--version"],
        env=variables,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert "9.8.7" in printed.stdout
