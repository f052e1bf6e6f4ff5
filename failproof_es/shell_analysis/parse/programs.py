"""Finds the two parser programs in this environment.

`shfmt` and `shellcheck` come as binaries in wheels. Another copy on PATH may be of another
version and judge otherwise, so PATH is never searched; environment variables can change
what they say (`SHELLCHECK_OPTS`), so they run with none.
"""

from __future__ import annotations

import re
import subprocess
import sysconfig
from functools import cache
from pathlib import Path
from threading import Lock

from failproof_es.shell_analysis.errors import ProgramMissing, ProgramTooSlow

SECONDS = 120.0
"""On the clock. What is slow to read is kept from the programs by its text, so that verdicts don't
depend on how busy a machine is; this is for what nobody has thought of."""
_VERSION = re.compile(r"\bv?(\d+\.\d+(?:\.\d+)*)")


_LOCATING = Lock()
"""Python works out its folders once, and not for two threads at the same time."""


@cache
def locate(name: str) -> Path:
    """Where the program stands. Raises `ProgramMissing`."""
    with _LOCATING:
        folders = _folders()
    for folder in folders:
        for path in (folder / name, folder / f"{name}.exe"):
            if path.is_file():
                return path
    searched = ", ".join(str(folder) for folder in folders)
    raise ProgramMissing(name, searched)


def _folders() -> list[Path]:
    """Where wheels put their programs."""
    schemes = [sysconfig.get_default_scheme(), sysconfig.get_preferred_scheme("user")]
    return [Path(sysconfig.get_path("scripts", scheme)) for scheme in schemes]


def run(
    name: str,
    *arguments: str,
    text: str = "",
    folder: Path | None = None,
    seconds: float | None = None,
) -> subprocess.CompletedProcess[bytes]:
    """Run a program with `text` on its standard input, in an empty environment.

    Raises `ProgramMissing`, `ProgramTooSlow` after `seconds` (`SECONDS`, if nothing is said), and
    `UnicodeEncodeError` for a text with lone surrogates.
    """
    limit = SECONDS if seconds is None else seconds
    try:
        return subprocess.run(
            [locate(name), *arguments],
            input=text.encode(),
            capture_output=True,
            env={},
            cwd=folder,
            timeout=limit,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ProgramTooSlow(f"{name} took longer than {limit:g} s") from None


def require() -> None:
    """Raise `ProgramMissing` unless both programs are there. Ask before work that needs them."""
    for name in ("shfmt", "shellcheck"):
        locate(name)


@cache
def version(name: str) -> str:
    """The version that the program says it is. Raises `ProgramMissing`."""
    output = run(name, "--version").stdout.decode(errors="replace")
    match = _VERSION.search(output)
    return match[1] if match else "unknown"
