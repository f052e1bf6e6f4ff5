"""Where `find` looks and how much of it is meant, by its words."""

from __future__ import annotations

from itertools import pairwise

from failproof_es.dialects.command.safety import marks


def find_items(arguments: tuple[str, ...]) -> list[str]:
    """The paths that `find` comes to: everything under a start, or some of it."""
    if not find_is_narrow(arguments):
        return [f"{start.rstrip('/')}/{marks.STAR}" for start in find_starts(arguments)]
    names = [b for a, b in pairwise(arguments) if a in ("-name", "-iname")]
    name = names[0] if len(names) == 1 else marks.ANY
    return [f"{start.rstrip('/')}/{marks.STAR}/{name}" for start in find_starts(arguments)]


def find_starts(arguments: tuple[str, ...]) -> list[str]:
    """Where `find` begins."""
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
    """Whether a test picks some of the files rather than all of them, or all of a type."""
    for at, word in enumerate(arguments):
        value = marks.plain(arguments[at + 1]) if at + 1 < len(arguments) else ""
        negated = at > 0 and arguments[at - 1] in ("!", "-not") and word.endswith(_BY_NAME)
        if word in _SELECTIVE and not negated and value not in ("*", "*.*", "/*", "./*"):
            return True
        if word == "-type" and value == "l":
            return True
    return False
