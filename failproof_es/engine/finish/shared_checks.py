"""The worker processes of one command share what they checked, so that none checks it again.

What a process checked is its own word for it. It is believed by processes that the same command
started: they run the same code, as the same user, on the same host. So it goes through a folder
that nobody else may enter, and not through the database. Who ends the run compares all of it
with the rows, as it does with what it checked itself.
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
"""What reading a file may raise that was cut short, or written by other code."""


@dataclass(frozen=True, slots=True)
class SharedChecks:
    """A folder with what the processes of a command checked."""

    folder: Path

    def leave(self, part: CheckedPart) -> None:
        """Leave it for whoever ends the run. Where that fails the run is read in full there."""
        name = f"{part.run_id}-{uuid4()}"
        unfinished = self.folder / name
        with suppress(OSError):
            if self._is_private():
                unfinished.write_bytes(pickle.dumps((code_version(), part)))
                unfinished.rename(self.folder / f"{name}{_SUFFIX}")

    def take_over(self, checks: LiveChecks) -> None:
        """Add what was left of the run, while nothing of it is driven here."""
        for part in self.find(checks.run.started.originator_id):
            checks.take_over(part)

    def find(self, run_id: UUID) -> Iterator[CheckedPart]:
        """What was left of this run by the same code. What cannot be read is left out."""
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
