"""A repository with what a release is made of, and the packages that are built of it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.acceptance.commands import ROOT
from tests.acceptance.ecosystem.installing import ARCHIVAL, Packages
from tests.acceptance.ecosystem.test_pre_commit import git
from tools.releasing.artefacts import build

IN_A_RELEASE = (
    "pyproject.toml", "README.md", "LICENSE", ".gitattributes", ".git_archival.txt", ".gitignore",
    "failproof_es", "projections", "suites", "configs", "tools",
)  # fmt: skip


@pytest.fixture(scope="session")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with what a release is made of, tagged."""
    folder = tmp_path_factory.mktemp("repository")
    for name in IN_A_RELEASE:
        if (ROOT / name).is_dir():
            shutil.copytree(
                ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__")
            )
        else:
            shutil.copy(ROOT / name, folder / name)
    (folder / ".git_archival.txt").write_text(ARCHIVAL)
    git(folder, "init", "-q")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "everything")
    git(folder, "tag", "v9.8.7")
    return folder


@pytest.fixture(scope="session")
def packages(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Packages:
    """Both packages of the tag, built once for all who install them."""
    folder = tmp_path_factory.mktemp("packages")
    source, wheel = sorted(build("v9.8.7", folder, repository), key=lambda file: file.suffix)
    return Packages(source, wheel)
