"""The wheel and the source package of a commit, the same bytes each time they are built."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]


class NotReproducible(Exception):
    """Two builds of one commit differ."""


def git(*arguments: str, root: Path = ROOT) -> str:
    """What git says. Raises `CalledProcessError`."""
    command = ["git", "-C", str(root), *arguments]
    done = subprocess.run(command, capture_output=True, check=True)
    return done.stdout.decode().strip()


def build_twice(commit: str, output: Path, root: Path = ROOT) -> list[Path]:
    """Build both packages of the commit into the folder. Raises `NotReproducible`.

    They are built of what the commit holds and of nothing else, in two folders.
    """
    built = build(commit, output, root)
    with tempfile.TemporaryDirectory(prefix="failproof-es-release-") as folder:
        again = build(commit, Path(folder), root)
        for one, other in zip(built, again, strict=True):
            if (one.name, sha256(one)) != (other.name, sha256(other)):
                raise NotReproducible(f"{one.name} is not the same when it is built again")
    return built


def build(commit: str, output: Path, root: Path = ROOT) -> list[Path]:
    """Build both packages of the commit, with the tools of this environment."""
    time = git("show", "-s", "--format=%ct", commit, root=root)
    with source_of(commit, root) as source, tempfile.TemporaryDirectory() as made:
        subprocess.run(
            [sys.executable, "-m", "hatchling", "build", "-d", made],
            cwd=source,
            env={**os.environ, "SOURCE_DATE_EPOCH": time, "TZ": "UTC", "LC_ALL": "C.UTF-8"},
            check=True,
            capture_output=True,
        )
        output.mkdir(parents=True, exist_ok=True)
        return [Path(shutil.move(each, output)) for each in sorted(Path(made).iterdir())]


@contextmanager
def source_of(commit: str, root: Path = ROOT) -> Iterator[Path]:
    """A folder with the files of the commit, as `git archive` gives them."""
    with tempfile.TemporaryDirectory(prefix="failproof-es-source-") as folder:
        archive = Path(folder, "source.tar")
        git("archive", "--format=tar", "-o", str(archive), commit, root=root)
        source = Path(folder, "source")
        with tarfile.open(archive) as tar:
            tar.extractall(source, filter="data")
        yield source


def sha256(file: Path) -> str:
    """SHA-256, in hexadecimal, of a file's bytes."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
