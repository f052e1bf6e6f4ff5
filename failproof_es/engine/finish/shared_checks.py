"""Shares checks among the worker processes of one command, so that no check is made twice.

A check has only the word of its process. The processes of one command believe each other: they run
the same code, as the same user, on the same host. So checks go through a folder that nobody else
may enter, and not through the database. The process that ends the run compares them with the rows,
as it does with its own checks.
"""

from __future__ import annotations

import os
import pickle
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID, uuid4

from failproof_es.engine.finish.live_checks import CheckedPart, LiveChecks
from failproof_es.engine.identity import code_version

_SUFFIX = ".checks"
_DAMAGED = (
    pickle.UnpicklingError, EOFError, AttributeError, ImportError, IndexError, KeyError, TypeError,
    ValueError,
)  # fmt: skip
"""Errors of reading a file that was cut short, or written by other code."""


@dataclass(frozen=True, slots=True)
class SharedChecks:
    """A private folder in which the processes of one command leave their checks for each other."""

    folder: Path

    def leave(self, part: CheckedPart) -> None:
        """Leave checks for the process that ends the run.

        If they cannot be written, nothing is raised, and that process reads the run in full.
        """
        name = f"{part.run_id}-{uuid4()}"
        unfinished = self.folder / name
        with suppress(OSError):
            if self._is_private():
                unfinished.write_bytes(pickle.dumps((code_version(), part)))
                unfinished.rename(self.folder / f"{name}{_SUFFIX}")

    def take_over(self, checks: LiveChecks) -> None:
        """Add the checks that were left for the run of `checks`.

        Call it while nothing of the run is driven here.
        """
        for part in self.find(checks.run.started.originator_id):
            checks.take_over(part)

    def find(self, run_id: UUID) -> Iterator[CheckedPart]:
        """The checks that processes of the same version left for this run.

        Unreadable files are skipped.
        """
        with suppress(OSError):
            if not self._is_private():
                return
            for file in sorted(self.folder.glob(f"{run_id}-*{_SUFFIX}")):
                with suppress(*_DAMAGED):
                    version, part = pickle.loads(file.read_bytes())  # noqa: S301
                    if version == code_version() and isinstance(part, CheckedPart):
                        yield part

    def _is_private(self) -> bool:
        """Whether the folder is this user's, and nobody else may enter it."""
        status = self.folder.lstat()
        ours = not hasattr(os, "geteuid") or status.st_uid == os.geteuid()
        return ours and stat.S_ISDIR(status.st_mode) and not stat.S_IMODE(status.st_mode) & 0o077
