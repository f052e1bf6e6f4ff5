"""The two programs that read shell for us, found where this environment installed them.

`shfmt` and `shellcheck` come as binaries in wheels. Another copy on PATH may be of another
version and judge otherwise, so PATH is never searched; environment variables can change
what they say (`SHELLCHECK_OPTS`), so they run with none.
"""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path

from failproof_es.extras import installed_program, program_folders

_SECONDS = 10.0
_VERSION = re.compile(r"\bv?(\d+\.\d+(?:\.\d+)*)")


class ProgramMissing(Exception):
    """The installation is broken: a program that a dependency brings is not there."""


class ProgramTooSlow(Exception):
    """The program was stopped because its time was over."""


@cache
def locate(name: str) -> Path:
    """Where the program stands. Raises `ProgramMissing`."""
    if (path := installed_program(name)) is not None:
        return path
    searched = ", ".join(str(folder) for folder in program_folders())
    raise ProgramMissing(f"{name} is not in {searched}: install {name}-py, of the extra 'commands'")


def run(
    name: str,
    *arguments: str,
    text: str = "",
    folder: Path | None = None,
    seconds: float = _SECONDS,
) -> subprocess.CompletedProcess[bytes]:
    """Run a program with `text` on its standard input, in an empty environment.

    Raises `ProgramMissing`, `ProgramTooSlow` after `seconds`, and `UnicodeEncodeError` for a
    text with lone surrogates.
    """
    try:
        return subprocess.run(
            [locate(name), *arguments],
            input=text.encode(),
            capture_output=True,
            env={},
            cwd=folder,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ProgramTooSlow(f"{name} took longer than {seconds:g} s") from None


@cache
def version(name: str) -> str:
    """The version that the program says it is. Raises `ProgramMissing`."""
    said = run(name, "--version").stdout.decode(errors="replace")
    found = _VERSION.search(said)
    return found[1] if found else "unknown"
