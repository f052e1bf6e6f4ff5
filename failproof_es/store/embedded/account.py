"""The account of the embedded server: PostgreSQL refuses to run as root."""

from __future__ import annotations

import os
import pwd
import shutil
import stat
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
    """The current user. For root, the system user `pgserver`, which is created if missing.

    Where no user can be made (no `useradd`), `nobody`.
    """
    if euid != 0:
        return Account(euid, os.getegid(), is_us=True)
    try:
        entry = pwd.getpwnam(_SYSTEM_USER)
    except KeyError:
        entry = _make_system_user()
    return Account(entry.pw_uid, entry.pw_gid, is_us=False)


def _make_system_user() -> pwd.struct_passwd:
    useradd = shutil.which("useradd", path="/usr/sbin:/sbin:/usr/bin:/bin")
    if useradd is not None:
        subprocess.run(
            [useradd, "--system", "--no-create-home", "--shell", "/usr/sbin/nologin", _SYSTEM_USER],
            check=False,
            capture_output=True,
        )
    try:
        return pwd.getpwnam(_SYSTEM_USER)
    except KeyError:
        return pwd.getpwnam(_UNPRIVILEGED)


def make_reachable(folder: Path, account: Account) -> list[str]:
    """Let the account reach `folder`, opening as little as possible. Return what was opened.

    Of it and its parents only those that the account cannot pass get `o+x`: passing
    through, not listing. What the account owns lies in a folder of its own inside.
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
