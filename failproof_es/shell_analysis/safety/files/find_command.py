"""Analyses `find`: where it starts, and how much it matches."""

from __future__ import annotations

from itertools import pairwise

from failproof_es.shell_analysis.safety.text import marks

DEEP = marks.STAR * 2
"""Part of a path that stands for any number of nested folders."""


def find_items(arguments: tuple[str, ...]) -> list[str]:
    """The paths that `find` matches: everything under its starts, or some of it; unknown parts
    marked."""
    starts = find_starts(arguments)
    deepest = _depth("-maxdepth", arguments)
    deep = DEEP if deepest is None else "/".join([marks.STAR] * min(deepest, 3))
    if not find_is_narrow(arguments):
        folders = "/" if ("-type", "d") in pairwise(arguments) else ""
        return starts if deepest == 0 else [below(start, deep + folders) for start in starts]
    names = [b for a, b in pairwise(arguments) if a in ("-name", "-iname")]
    name = names[0] if len(names) == 1 else marks.ANY
    if deepest == 0:
        return [marks.ANY]
    if deepest == 1:
        return [below(start, name) for start in starts]
    return [below(start, f"{deep}/{name}") for start in starts]


def below(start: str, what: str = DEEP) -> str:
    """The path of `what` under the folder `start`; by default of everything in it."""
    return f"{start.rstrip('/')}/{what}"


def reaches_deep(path: str) -> bool:
    """Whether a path contains files at any depth under a folder: all of them, or some."""
    return DEEP in path


def reaches_all(path: str) -> bool:
    """Whether a path stands for everything under a folder, as `chmod -R` would reach it.

    False for folders alone (`find -type d`), whose path ends in a slash.
    """
    return path.endswith(DEEP)


def find_spares_start(arguments: tuple[str, ...]) -> bool:
    """Whether `find` spares the folders in which it starts, and deletes only their contents.

    `-delete` removes only empty folders, and `-maxdepth 1` does not empty them.
    """
    types = [b for a, b in pairwise(arguments) if a == "-type"]
    no_folders = bool(types) and all("d" not in letters.split(",") for letters in types)
    negated = any(a in ("!", "-not") and b == "-type" for a, b in pairwise(arguments))
    one_level = _depth("-maxdepth", arguments) == 1 and "-exec" not in arguments
    return bool(_depth("-mindepth", arguments)) or (no_folders and not negated) or one_level


def _depth(name: str, arguments: tuple[str, ...]) -> int | None:
    depths = [b for a, b in pairwise(arguments) if a == name and b.isdecimal()]
    return int(depths[-1]) if depths else None


def find_starts(arguments: tuple[str, ...]) -> list[str]:
    """The folders in which a `find` with these arguments starts; `.` by default."""
    starts = []
    skip = False
    for word in arguments:
        if skip:
            skip = False
        elif word in ("-H", "-L", "-P", "-E", "-X", "-d", "-s", "-x") or word.startswith("-O"):
            continue
        elif word in ("-D", "-f"):
            skip = word == "-D"
        elif word.startswith(("-", "(", ")", "!", ",")):
            break
        else:
            starts.append(word)
    return [start for start in starts if start] or ["."]


_SELECTIVE = frozenset(
    {"-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename", "-regex", "-iregex",
     "-lname", "-ilname", "-empty", "-inum", "-samefile", "-mtime", "-atime", "-ctime", "-mmin",
     "-amin", "-cmin", "-newer", "-size", "-user", "-group", "-uid", "-gid", "-nouser",
     "-nogroup", "-perm", "-links", "-used", "-anewer", "-cnewer", "-newermt", "-newerct",
     "-newerat", "-xtype"}
)  # fmt: skip


_BY_NAME = ("name", "path", "regex", "-user", "-group")


def find_is_narrow(arguments: tuple[str, ...]) -> bool:
    """Whether a test of `find` selects some of the files, not all of them or all of a type."""
    for at, word in enumerate(arguments):
        value = marks.plain(arguments[at + 1]) if at + 1 < len(arguments) else ""
        negated = at > 0 and arguments[at - 1] in ("!", "-not") and word.endswith(_BY_NAME)
        if word in _SELECTIVE and not negated and value not in ("*", "*.*", "/*", "./*"):
            return True
        if word == "-type" and value == "l":
            return True
    return False
