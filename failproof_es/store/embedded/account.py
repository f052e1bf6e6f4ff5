"""The account of the embedded server: PostgreSQL refuses to run as root."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import stat
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fasteners

ROOT_HOME = Path("/var/lib/failproof-es")
"""The home of root's server, and the folder that all servers started by root share."""
_SYSTEM_USER = "pgserver"
_UNPRIVILEGED = "nobody"


@dataclass(frozen=True, slots=True)
class Account:
    """The user that owns the data and runs the server."""

    uid: int
    gid: int
    is_us: bool

    def own(self, path: Path) -> None:
        """Give `path` to this account."""
        if not self.is_us:
            os.chown(path, self.uid, self.gid)

    def run_as(self) -> dict[str, Any]:
        """The arguments that make `subprocess.run` run a program as this account."""
        if self.is_us:
            return {}
        return {"user": self.uid, "group": self.gid, "extra_groups": []}


def account_for(euid: int) -> Account:
    """The current user; for root, the system user `pgserver`, which is created if missing.

    If no user can be created (no `useradd`), `nobody`.
    """
    if euid != 0:
        return Account(euid, os.getegid(), is_us=True)
    if (entry := _system_user()) is None:
        with contextlib.suppress(OSError):  # a system that is read-only
            _make_system_user()
        entry = _system_user() or pwd.getpwnam(_UNPRIVILEGED)
    return Account(entry.pw_uid, entry.pw_gid, is_us=False)


def _system_user() -> pwd.struct_passwd | None:
    try:
        return pwd.getpwnam(_SYSTEM_USER)
    except KeyError:
        return None


def _make_system_user() -> None:
    """Create the system user, in one process at a time.

    Of two concurrent `useradd`, the second replaces the first one's user by one with another uid: a
    server under the first uid would belong to nobody.
    """
    useradd = shutil.which("useradd", path="/usr/sbin:/sbin:/usr/bin:/bin")
    if useradd is None:
        return
    ROOT_HOME.mkdir(parents=True, exist_ok=True, mode=0o755)
    with fasteners.InterProcessLock(ROOT_HOME / ".account.lock"):
        if _system_user() is None:
            subprocess.run(
                [
                    useradd, "--system", "--no-create-home",
                    "--shell", "/usr/sbin/nologin", _SYSTEM_USER,
                ],
                check=False,
                capture_output=True,
            )  # fmt: skip


def make_reachable(folder: Path, account: Account) -> list[str]:
    """Let the account reach `folder`, opening as little as possible. Return messages about it.

    `folder` and its parents get `o+x` (traversal, not listing) if the account cannot pass
    them. The account's own files are in a private folder inside.
    """
    if account.is_us:
        return []
    opened = []
    for parent in (folder, *folder.parents):
        status = parent.stat()
        if status.st_uid != account.uid and not status.st_mode & stat.S_IXOTH:
            parent.chmod(stat.S_IMODE(status.st_mode) | stat.S_IXOTH)
            opened.append(f"{parent} can now be traversed (not listed) by every user (o+x)")
    return opened


def can_reach(folder: Path, account: Account) -> bool:
    """Whether the account can pass every parent of `folder` and read it."""
    if account.is_us:
        return True
    readable = bool(folder.stat().st_mode & stat.S_IROTH)
    return readable and all(p.stat().st_mode & stat.S_IXOTH for p in (folder, *folder.parents))
