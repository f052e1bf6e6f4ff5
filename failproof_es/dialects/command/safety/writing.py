"""Writing where the system, a login or a shell reads: SYSTEM_FILE_WRITE, STARTUP_FILE_WRITE."""

from __future__ import annotations

import re
from collections.abc import Iterator

from failproof_es.dialects.command.safety import marks
from failproof_es.dialects.command.safety.commands import Command
from failproof_es.dialects.command.safety.output import output_files
from failproof_es.dialects.command.safety.places import (
    Extent,
    extent,
    is_authorized_keys,
    is_history,
    is_startup,
    is_system,
    locate,
)
from failproof_es.dialects.command.safety.verdict import ReasonCode, SafetyReason


def written_paths(command: Command) -> list[str]:
    """The files that a command writes: by redirection, as operands, by options."""
    paths = [each.target for each in command.redirections if each.writes]
    return paths + _by_command(command)


def _by_command(command: Command) -> list[str]:
    operands = list(command.operands)
    match command.name:
        case "dd" | "dcfldd" | "dc3dd" | "gdd":
            return [word[3:] for word in operands if word.startswith("of=")]
        case "tee" | "sponge" | "truncate" | "fallocate" | "gtruncate" | "mkfile":
            return command.operands_without("srl", frozenset({"--size", "--reference"}))
        case "cp" | "mv" | "install" | "gcp" | "gmv" | "ginstall" | "pcp" | "xcp":
            return _copied(command)
        case "ln" | "gln" | "link":
            return _linked(command)
        case "rsync" | "scp":
            words = command.operands_without("efPFiloScDJ")
            return words[-1:] if len(words) > 1 and ":" not in words[-1] else []
        case "sed" | "gsed" if command.has("iI", "--in-place"):
            given = bool(command.values("e", "--expression", "-f", "--file"))
            return command.operands_without("efl")[0 if given else 1 :]
        case "perl" | "ruby" if any(re.match(r"-\w*i", word) for word in command.arguments):
            return command.operands_without("eE")
        case "awk" | "gawk" if "inplace" in command.arguments:
            return operands[1:]
        case "ed" | "ex" | "vim" | "vi" if command.feed.text or command.has("sc"):
            return operands
        case "patch" | "chpasswd" | "touch":
            return operands if command.name == "touch" else operands[:1]
        case "sort":
            return command.values("o", "--output")
        case "tar" | "bsdtar" if _extracts(command):
            return command.values("C", "--directory")
        case "unzip":
            return command.values("d")
        case "ddrescue" | "pv" | "partclone.restore" | "ntfsclone":
            return [*operands[1:2], *command.values("o", "--output", "--overwrite")]
        case "split":
            return operands[1:]
        case "mount" if len(operands) > 1 and operands[-1] != "/":
            return [p for p in operands[-1:] if extent(p) is Extent.SYSTEM and not _mount_point(p)]
        case _:
            return output_files(command)


def _mount_point(path: str) -> bool:
    return bool(
        re.match(r"/(mnt|media|proc|sys|dev|run|tmp|boot/efi|var/\w+|home|opt|srv)\b", path)
    )


def _copied(command: Command) -> list[str]:
    targets = command.values("t", "--target-directory")
    operands = command.operands_without("tSmog", frozenset({"--target-directory", "--mode"}))
    if targets:
        return targets
    if command.has("d") and command.name == "install":
        return []
    if len(operands) < 2:
        return []
    *sources, target = operands
    backup = any(
        target.startswith(source)
        and target[len(source) :][:1] in ("", ".", "-", "_", "~")
        and target != source
        for source in sources
    )
    return [] if backup else [target]


def _linked(command: Command) -> list[str]:
    operands = command.operands_without("tS")
    return operands[-1:] if len(operands) > 1 else []


def _extracts(command: Command) -> bool:
    first = command.arguments[0] if command.arguments else ""
    return command.has("x", "--extract", "--get") or ("x" in first and "=" not in first)


def writes_system_files(command: Command) -> Iterator[SafetyReason]:
    """Files of the operating system created, changed, emptied or deleted."""
    if command.name == "touch":
        paths = [path for path in written_paths(command) if "nologin" in path]
    else:
        paths = written_paths(command)
    for path in paths:
        if _is_of_system(path, command) and not _is_folder_of_files(path, command):
            yield SafetyReason(ReasonCode.SYSTEM_FILE_WRITE, command.shown)
            return


def _is_of_system(path: str, command: Command) -> bool:
    """A known place of the system; the root only for what unpacks or copies whole trees."""
    if extent(path, command.cwd) is Extent.ROOT:
        return command.name in ("tar", "bsdtar", "unzip", "rsync")
    parts = locate(path, command.cwd).parts
    return is_system(path, command.cwd) and marks.is_known(parts[0])


def _is_folder_of_files(path: str, command: Command) -> bool:
    """`cp x /tmp`, `mv x /opt/`, `install x /usr/local/bin`: into it, not over it."""
    if any(path == each.target for each in command.redirections):
        return False
    clean = marks.plain(path).rstrip("/")
    return bool(
        re.fullmatch(
            r"/(tmp|opt|srv|mnt|media|home|Volumes|Applications|Users|snap|run"
            r"|usr/local(/\w+)?|var/(tmp|www|backups?|cache|log|opt))",
            clean,
        )
    )


def writes_startup_files(command: Command) -> Iterator[SafetyReason]:
    """Who may log in, and what a login runs: emptied, or given what cannot be read here."""
    emptied = [each.target for each in command.redirections if each.empties]
    for path in written_paths(command):
        replaces = is_startup(path, command.cwd) and _replaces_at_home(path, command, emptied)
        if replaces or is_authorized_keys(path, command.cwd):
            yield SafetyReason(ReasonCode.STARTUP_FILE_WRITE, command.shown)


def _replaces_at_home(path: str, command: Command, emptied: list[str]) -> bool:
    at_home = path.startswith((marks.HOME, "~", "/"))
    truncates = command.name in ("truncate", "dd") or path in emptied
    overwrites = command.name in ("tee", "sponge") and not command.has("a", "--append")
    return at_home and (truncates or overwrites) and not is_history(path, command.cwd)
