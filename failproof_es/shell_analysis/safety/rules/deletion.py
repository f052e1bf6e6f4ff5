"""Deleting more than was named: DELETE_BROAD, DISCARD_WORK."""

from __future__ import annotations

import posixpath
from dataclasses import replace

from failproof_es.shell_analysis.safety.commands import ShellCommand
from failproof_es.shell_analysis.safety.files.confirmation import consents_in_advance
from failproof_es.shell_analysis.safety.files.find_command import (
    below,
    find_is_narrow,
    find_spares_start,
    find_starts,
)
from failproof_es.shell_analysis.safety.files.places import Extent, extent, locate
from failproof_es.shell_analysis.safety.text import marks

DELETERS = frozenset(
    {"rm", "unlink", "srm", "shred", "wipe", "scrub", "rimraf", "grm", "gshred", "gunlink",
     "del-cli", "sdelete", "tmpreaper", "tmpwatch", "safe-rm", "remove", "nwipe", "erase"}
)  # fmt: skip
_SUBCOMMANDS = {
    "gio": {"remove": "rm", "trash": "trash"},
    "kioclient": {"remove": "rm"},
    "kioclient5": {"remove": "rm"},
}
"""Programs with subcommands that delete, and the equivalent program of each."""
_OTHER_NAMES = {
    "gvfs-rm": "rm", "rip": "trash", "gomi": "trash", "trash-put": "trash", "gvfs-trash": "trash",
    "rmtrash": "trash", "trash-cli": "trash",
}  # fmt: skip
_VALUED = {"shred": "ns", "gshred": "ns", "tmpreaper": "TaX", "scrub": "pbDsX"}
_IMMOVABLE = {Extent.ROOT, Extent.SYSTEM, Extent.HOME}
"""Places that must not be moved away, though they could be moved back."""
_GUARDABLE = {Extent.CURRENT, Extent.PERSONAL, Extent.PARENT}


def deletes_broadly(command: ShellCommand) -> bool:
    """Whether the command deletes the system, a home, all of a directory, or unknown operands.

    Moving such a place away or replacing it by `rsync --delete` counts, too.
    """
    if command.name == "crontab":
        return command.has("r") or _replaces_crontab(command)
    if command.name in ("tar", "zip", "7z"):
        moves = any(word in ("--remove-files", "-m", "-sdel") for word in command.arguments)
        return moves and any(_is_broad(path, command) for path in command.operands)
    usual = _as_usual_program(command)
    judges = (_deletes_operands, _deletes_by_find, _moves_away, _mirrors_over)
    return any(judge(usual) for judge in judges)


def _as_usual_program(command: ShellCommand) -> ShellCommand:
    """The equivalent command with `rm` or `trash`; any other command unchanged."""
    if command.name in _OTHER_NAMES:
        return replace(command, name=_OTHER_NAMES[command.name])
    names = _SUBCOMMANDS.get(command.name, {})
    if command.operands and (name := names.get(command.operands[0])) is not None:
        at = command.arguments.index(command.operands[0])
        arguments = (*command.arguments[:at], *command.arguments[at + 1 :])
        return replace(command, name=name, arguments=arguments)
    return command


def _deletes_operands(command: ShellCommand) -> bool:
    if command.name not in DELETERS:
        return False
    if command.has("", "--no-preserve-root"):
        return True
    for path in command.operands_without(_VALUED.get(command.name, "")):
        path_extent = extent(path, command.cwd)
        guarded = (command.interactive or _asks_before_each(command)) and not consents_in_advance(
            command
        )
        may_be_many = not marks.is_known(path) or not marks.GLOBS.isdisjoint(path)
        guardable = path_extent in _GUARDABLE or may_be_many
        if path_extent is Extent.NARROW or (guarded and guardable):
            continue
        if path_extent is not Extent.DEVICE or command.name in ("rm", "unlink"):
            return True
    return False


def _asks_before_each(command: ShellCommand) -> bool:
    """Whether `rm` asks before each file: the last of `-i` and `-f` counts."""
    asks = False
    for argument in command.arguments:
        if argument.startswith("--interactive"):
            asks = not argument.endswith(("never", "no", "none"))
        elif argument == "--force":
            asks = False
        elif argument.startswith("-") and not argument.startswith("--"):
            for letter in argument[1:]:
                asks = letter in "iI" if letter in "iIf" else asks
    return asks


def _deletes_by_find(command: ShellCommand) -> bool:
    if command.name not in ("find", "gfind"):
        return False
    deletes = "-delete" in command.arguments
    runs = [
        command.arguments[at + 1].rpartition("/")[2]
        for at, word in enumerate(command.arguments[:-1])
        if word in ("-exec", "-execdir")
        and (
            consents_in_advance(command)
            or not _asks_before_each(ShellCommand("rm", command.arguments[at + 2 :]))
        )
    ]
    if not deletes and not DELETERS.intersection(runs):
        return False
    narrow = find_is_narrow(command.arguments)
    spared = find_spares_start(command.arguments)
    for start in find_starts(command.arguments):
        if spared and extent(below(start), command.cwd) is Extent.NARROW:
            continue
        start_extent = extent(start, command.cwd)
        harmless = start_extent in _GUARDABLE | {Extent.HOME} or _is_state(start, command)
        if start_extent is not Extent.NARROW and not (narrow and harmless):
            return True
    return False


def _replaces_crontab(command: ShellCommand) -> bool:
    """Whether `/dev/null`, or standard input without the old table, replaces the whole table.

    A table from a file (by name, by `<` or through `cat`) is allowed: somebody keeps the file.
    """
    feed, operands = command.feed, command.operands_without("u")
    if operands == ["/dev/null"] or feed.path == "/dev/null":
        return True
    if operands not in ([], ["-"]) or command.has("lei") or feed.path is not None:
        return False
    if feed.text is None and all(source.name == "cat" for source in feed.upstream):
        return False
    return not any(source.name == "crontab" for source in feed.upstream)


def _is_state(start: str, command: ShellCommand) -> bool:
    """Whether some files under `start` may be deleted without harm: `/var/cache`, `/opt`, ..."""
    parts = locate(start, command.cwd).parts
    if parts in (("tmp",), ("home",), ("mnt",)):
        return True
    return parts[:1] in (("opt",), ("srv",), ("media",), ("run",)) or (
        parts[:1] == ("var",) and len(parts) > 1 and parts[1] not in ("lib", "db")
    )


def _moves_away(command: ShellCommand) -> bool:
    if command.name == "trash":
        return any(extent(path, command.cwd) in _IMMOVABLE for path in command.operands)
    if command.name not in ("mv", "gmv"):
        return False
    operands = command.operands_without("tS")
    return operands[-1:] == ["/dev/null"] or any(
        extent(path, command.cwd) in _IMMOVABLE and not _is_backup(path, operands[-1])
        for path in operands[:-1]
    )


def _is_backup(source: str, target: str) -> bool:
    return target.startswith(source) and target[len(source) :][:1] in (".", "-", "_", "~")


def _mirrors_over(command: ShellCommand) -> bool:
    """Whether `rsync --delete` copies into a broad place, or from `/dev/null`."""
    if command.name != "rsync" or not any(word.startswith("--del") for word in command.arguments):
        return False
    operands = command.operands_without("ef")
    if len(operands) < 2:
        return False
    target = operands[-1].rpartition(":")[2]
    if _is_broad(target, command):
        return extent(target, command.cwd) is not Extent.CURRENT
    return operands[0] == "/dev/null"


def _is_broad(path: str, command: ShellCommand) -> bool:
    return extent(path, command.cwd) not in (Extent.NARROW, Extent.DEVICE)


def discards_work(command: ShellCommand) -> bool:
    """Whether the command irrevocably loses work that version control would have kept."""
    if command.name in DELETERS:
        places = [locate(path, command.cwd) for path in command.operands]
        return any(place.parts[-1:] == (".git",) for place in places)
    if command.name != "git":
        return False
    words = _skip_options(command.arguments)
    rest = ShellCommand("git", tuple(words[1:]))
    match words[:1]:
        case ["push"]:
            forces = rest.has("fd", "--force", "--mirror", "--delete", "--prune") or any(
                word.startswith(("+", ":")) and len(word) > 1 for word in rest.operands
            )
            return forces and not rest.has("n", "--dry-run")
        case ["reset"]:
            return rest.has("", "--hard", "--merge")
        case ["clean"]:
            asks = rest.has("i", "--interactive") and not consents_in_advance(command)
            return rest.has("fi", "--force", "--interactive") and not (
                asks or rest.has("n", "--dry-run")
            )
        case ["checkout" | "restore"]:
            everything = _names_everything(rest)
            in_index = rest.has("S", "--staged") and not rest.has("W", "--worktree")
            forces = words[0] == "checkout" and rest.has("f", "--force")
            return (everything and not in_index) or forces
        case ["switch"]:
            return rest.has("f", "--force", "--discard-changes")
        case ["rm"]:
            keeps = rest.has("n", "--cached", "--dry-run")
            return rest.has("f", "--force") and not keeps and _names_everything(rest)
        case ["branch"]:
            return rest.has("D") or (rest.has("d", "--delete") and rest.has("f", "--force"))
        case ["stash"]:
            return rest.operands[:1] in (("clear",), ("drop",))
        case ["reflog"]:
            return rest.operands[:1] in (("expire",), ("delete",))
        case ["update-ref"]:
            return rest.has("d")
        case ["filter-branch" | "filter-repo"]:
            return True
        case ["gc" | "prune"]:
            return any(word in ("--prune=now", "--prune=all") for word in rest.arguments)
        case ["worktree" | "submodule"]:
            return rest.has("f", "--force") and rest.operands[:1] in (("remove",), ("deinit",))
    return False


def _names_everything(command: ShellCommand) -> bool:
    """Whether an operand of a git command is the whole work tree or folder."""
    return any(
        word == ":/" or posixpath.normpath(word) in (".", "*", marks.STAR)
        for word in command.operands
    )


def _skip_options(arguments: tuple[str, ...]) -> list[str]:
    at = 0
    while at < len(arguments) and arguments[at].startswith("-"):
        at += 2 if arguments[at] in ("-C", "-c", "--git-dir", "--work-tree") else 1
    return list(arguments[at:])
