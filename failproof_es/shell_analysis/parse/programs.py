"""Finds the two parser programs in this environment.

`shfmt` and `shellcheck` come as binaries in wheels. A copy on PATH may have another version and
judge differently, so PATH is never searched. Environment variables such as `SHELLCHECK_OPTS` can
change the output, so the programs run with none.
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
"""Wall-clock limit of a program. Slow texts are refused by their content, so that verdicts don't
depend on the machine's load; this limit is for unforeseen ones."""
_VERSION = re.compile(r"\bv?(\d+\.\d+(?:\.\d+)*)")


_LOCATING = Lock()
"""`sysconfig` initializes its paths once, and not safely for two threads at a time."""


@cache
def locate(name: str) -> Path:
    """The path of the program. Raises `ProgramMissing` if it is not where wheels install
    programs."""
    with _LOCATING:
        folders = _folders()
    for folder in folders:
        for path in (folder / name, folder / f"{name}.exe"):
            if path.is_file():
                return path
    searched = ", ".join(str(folder) for folder in folders)
    raise ProgramMissing(name, searched)


def _folders() -> list[Path]:
    """The folders into which wheels install programs."""
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

    `folder` is its working directory, by default the current one. Raises `ProgramMissing`,
    `ProgramTooSlow` after `seconds` (by default `SECONDS`), and `UnicodeEncodeError` for a text
    with lone surrogates.
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
    """Raise `ProgramMissing` unless both programs are installed; for use before long work."""
    for name in ("shfmt", "shellcheck"):
        locate(name)


@cache
def version(name: str) -> str:
    """The version that the program reports, or `unknown`.

    Raises `ProgramMissing` if it is not installed.
    """
    output = run(name, "--version").stdout.decode(errors="replace")
    match = _VERSION.search(output)
    return match[1] if match else "unknown"
