"""The version of the package: that of the tag, wherever the source came from.

`pyproject.toml` has it executed alone when a package is built, so it imports nothing of ours.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

TOLD = "FAILPROOF_ES_BUILD_VERSION"
FALLBACK = "0.1.0.dev0"
"""Where nothing says which commit it is: before the version that is being worked on."""
LENGTH = 12
"""How much of a commit's name stands in a version. By itself git would go by the clone's size."""
_TAG = re.compile(r"v(\d+(?:\.\d+)+(?:(?:a|b|rc)\d+)?)(?:-(\d+)-g([0-9a-f]+))?(-dirty)?")
_COMMIT = re.compile(r"([0-9a-f]{7,64})(-dirty)?")


def version(root: Path) -> str:
    """The version of the source in this folder: a source package, an archive or a repository."""
    found = _told() or _of_source_package(root) or _of_archive(root) or _of_repository(root)
    return found or FALLBACK


def of_description(description: str) -> str | None:
    """The version of what `git describe --always` says; `None` where it names no commit.

    A commit after a tag is a development version of the release after it. One that no tag of ours
    is before, or only in a part of the history that is not here, has the commit in its version: two
    commits never make packages of one name.
    """
    if bare := _COMMIT.fullmatch(description.strip()):
        return f"{FALLBACK}+{_local(bare[1], bare[2])}"
    found = _TAG.fullmatch(description.strip())
    if found is None:
        return None
    tag, commits, commit, dirty = found.groups()
    if commits in (None, "0") and dirty is None:
        return tag
    numbers = re.sub(r"(?:a|b|rc)\d+$", "", tag)
    if numbers == tag:  # of a pre-release the next one is the release itself
        *before, last = numbers.split(".")
        numbers = ".".join([*before, str(int(last) + 1)])
    return f"{numbers}.dev{commits or 0}+{_local(commit, dirty)}"


def _local(commit: str | None, dirty: str | None) -> str:
    """What stands behind the plus sign."""
    return ".".join([*([f"g{commit[:LENGTH]}"] if commit else []), *(["dirty"] if dirty else [])])


def _told() -> str | None:
    """What whoever builds says, where the source cannot: in an image, for instance."""
    told = os.environ.get(TOLD, "")
    if told and of_description(f"v{told}") != told:
        raise ValueError(f"{TOLD} is not a version such as 1.2.3: {told!r}")
    return told or None


def _of_source_package(root: Path) -> str | None:
    try:
        said = (root / "PKG-INFO").read_text(encoding="utf-8")
    except OSError:
        return None
    found = re.search(r"^Version: (\S+)$", said, re.M)
    return found[1] if found else None


def _of_archive(root: Path) -> str | None:
    """`git archive` writes into this file which commit it is."""
    try:
        said = (root / ".git_archival.txt").read_text(encoding="utf-8")
    except OSError:
        return None
    told = dict(re.findall(r"^(describe|commit): (\S+)$", said, re.M))
    return of_description(told.get("describe", "")) or of_description(told.get("commit", ""))


def _of_repository(root: Path) -> str | None:
    if not (root / ".git").exists():
        return None  # else a repository around it would answer
    command = ["git", "-C", str(root), "describe", "--tags", "--long", "--dirty", "--always"]
    command += [f"--abbrev={LENGTH}", "--match", "v[0-9]*"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return None
    return of_description(done.stdout) if done.returncode == 0 else None


VERSION = version(Path(__file__).resolve().parents[2])
