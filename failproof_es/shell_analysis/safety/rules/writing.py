"""Writing files of the system, a login or a shell: SYSTEM_FILE_WRITE, STARTUP_FILE_WRITE."""

from __future__ import annotations

import re

from failproof_es.shell_analysis.safety.commands import ShellCommand
from failproof_es.shell_analysis.safety.files.file_operands import written_operands
from failproof_es.shell_analysis.safety.files.places import (
    Extent,
    extent,
    is_authorized_keys,
    is_history,
    is_startup,
    is_system,
    locate,
)
from failproof_es.shell_analysis.safety.text import marks


def written_paths(command: ShellCommand) -> list[str]:
    """The files that a command writes: by redirections, operands and options."""
    paths = [redirection.target for redirection in command.redirections if redirection.writes]
    return paths + written_operands(command)


def writes_system_files(command: ShellCommand) -> bool:
    """Whether the command creates or changes files of the operating system."""
    return any(
        _is_of_system(path, command) and not _is_folder_of_files(path, command)
        for path in written_paths(command)
    )


def _is_of_system(path: str, command: ShellCommand) -> bool:
    """Whether the path is a known place of the system; the root only for programs that unpack or
    copy whole trees."""
    if extent(path, command.cwd) is Extent.ROOT:
        return command.name in ("tar", "bsdtar", "unzip", "rsync")
    parts = locate(path, command.cwd).parts
    return is_system(path, command.cwd) and marks.is_known(parts[0])


def _is_folder_of_files(path: str, command: ShellCommand) -> bool:
    """Whether the target is a folder into which files are put: `cp x /tmp`, `mv x /opt/`,
    `install x /usr/local/bin`. The target of a redirection is none."""
    if any(path == redirection.target for redirection in command.redirections):
        return False
    clean = marks.plain(path).rstrip("/")
    return bool(
        re.fullmatch(
            r"/(tmp|opt|srv|mnt|media|home|Volumes|Applications|Users|snap|run"
            r"|usr/local(/\w+)?|var/(tmp|www|backups?|cache|log|opt))",
            clean,
        )
    )


def writes_startup_files(command: ShellCommand) -> bool:
    """Whether the command writes `authorized_keys`, or replaces a startup file at home."""
    emptied = [redirection.target for redirection in command.redirections if redirection.empties]
    return any(
        is_authorized_keys(path, command.cwd)
        or (is_startup(path, command.cwd) and _replaces_at_home(path, command, emptied))
        for path in written_paths(command)
    )


def _replaces_at_home(path: str, command: ShellCommand, emptied: list[str]) -> bool:
    at_home = path.startswith((marks.HOME, "~", "/"))
    truncates = command.name in ("truncate", "dd") or path in emptied
    overwrites = command.name in ("tee", "sponge") and not command.has("a", "--append")
    return at_home and (truncates or overwrites) and not is_history(path, command.cwd)
