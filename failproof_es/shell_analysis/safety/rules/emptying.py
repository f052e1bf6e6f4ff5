"""Emptying many files: DELETE_BROAD.

Emptying a file is as bad as deleting it, so the same places count. In addition, a redirection or
`tee` that replaces many files through a pattern is judged, whatever it writes.
"""

from __future__ import annotations

from failproof_es.shell_analysis.safety.commands import ShellCommand
from failproof_es.shell_analysis.safety.files.file_operands import emptied_operands
from failproof_es.shell_analysis.safety.files.places import Extent, extent
from failproof_es.shell_analysis.safety.text import marks

_ONE_FILE = frozenset({Extent.PERSONAL, Extent.SECRET})
"""Places where the loss of one file counts; files of the system have another reason code."""
_SILENT = frozenset({"", ":", "true"})
_REPLACES = frozenset({"tee", "sponge"})


def empties_broadly(command: ShellCommand) -> bool:
    """Whether the command empties many files or a personal one, such as `truncate -s 0 *`,
    `for f in *; do >"$f"; done`, `cp /dev/null ~/.ssh/id_rsa`."""
    replaced = [redirection.target for redirection in command.redirections if redirection.empties]
    emptied = emptied_operands(command)
    if command.name in _REPLACES and command.feed.path != "/dev/null":
        replaced, emptied = replaced + emptied, []
    elif command.name in _SILENT or "/dev/null" in command.arguments:
        replaced, emptied = [], replaced + emptied
    many = any(_reaches_many(path, command.cwd) for path in [*replaced, *emptied])
    return many or any(extent(path, command.cwd) in _ONE_FILE for path in emptied)


def _reaches_many(path: str, cwd: str) -> bool:
    """Whether the path has a pattern that matches in a place where deletion is too broad."""
    last = path.rstrip("/").rpartition("/")[2]
    globbed = not marks.GLOBS.isdisjoint(path)
    broad = extent(path, cwd) not in (Extent.NARROW, Extent.DEVICE)
    return globbed and broad and bool(last)
