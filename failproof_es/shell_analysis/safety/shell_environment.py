"""The known shell environment at a point of the text: variables, files, directory."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from failproof_es.shell_analysis.safety.commands import ShellCommand
from failproof_es.shell_analysis.safety.files.places import key
from failproof_es.shell_analysis.safety.text import marks
from failproof_es.shell_analysis.safety.text.output import (
    origin,
    output_files,
    printed,
    reads_secret,
    taint,
)

READINGS = 12
"""Most values of a variable, and most readings of a command line, that are followed."""

_LONGEST_FILE = 2**16
"""Characters. A longer file keeps only the marks of its origin when text is appended."""
_ARCHIVERS = frozenset({"tar", "zip", "7z", "7za", "gpg", "openssl", "bsdtar", "rar"})
_ARCHIVE = re.compile(r"\.(zip|tgz|tar|tar\.\w+|7z|rar|enc|gpg|tbz2?|txz)$")


@dataclass(slots=True)
class Surroundings:
    """The environment known so far, which commands change.

    `variables`: the possible values of each. `files`: content by path, text or a mark of its
    origin.
    """

    variables: dict[str, tuple[str, ...]] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    cwd: str = "."

    def write(self, path: str, content: str, *, appends: bool = False) -> None:
        """Record that `content` is written into a file; with `appends`, after its known content."""
        place = key(path, self.cwd)
        before = self.files.get(place, "") if appends else ""
        if len(before) > _LONGEST_FILE:
            before = marks.ANY + "".join(mark for mark in marks.TAINTS if mark in before)
        self.files[place] = before + content

    def restore(self, variables: dict[str, tuple[str, ...]]) -> None:
        """Replace the variables by these, which were copied earlier."""
        self.variables.clear()
        self.variables.update(variables)

    def bind(self, arguments: tuple[str, ...]) -> None:
        """Set the positional parameters: `$1` to `$9`, `$@` and `$*`."""
        for at, argument in enumerate(arguments[:9], 1):
            self.variables[str(at)] = (argument,)
        self.variables["@"] = self.variables["*"] = (marks.SPLIT.join(arguments),)

    def learn(self, command: ShellCommand, items: Callable[[], list[str]]) -> None:
        """Apply the changes that a command makes to variables, files and directory.

        `items` returns the words on its standard input.
        """
        match command.name:
            case "cd" | "pushd" | "chdir":
                target = command.operands[0] if command.operands else marks.HOME
                self.cwd = "." if target in ("-", marks.ANY) else _join_path(self.cwd, target)
            case "read" | "mapfile" | "readarray":
                for name in command.operands:
                    self.variables[name] = tuple(items())[:READINGS]
            case "tee" | "sponge":
                content = command.feed.text
                if content is None:
                    content = marks.ANY + taint(command.feed.upstream)
                appends = not {"-a", "--append"}.isdisjoint(command.arguments)
                for path in command.operands:
                    self.write(path, content, appends=appends)
            case "set" if command.arguments[:1] == ("--",):
                self.bind(command.arguments[1:])
            case "printf" if command.arguments[:1] == ("-v",) and len(command.arguments) > 2:
                text = printed((ShellCommand("printf", command.arguments[2:]),))
                self.variables[command.arguments[1]] = (marks.ANY if text is None else text,)
            case _:
                for path in output_files(command):
                    self.write(path, origin(command))
                if command.name in _ARCHIVERS and reads_secret(command):
                    for path in filter(_ARCHIVE.search, command.operands):
                        self.write(path, marks.ANY + marks.SECRET)
                self._copy_contents(command)

    def _copy_contents(self, command: ShellCommand) -> None:
        """Copy known contents to the target of `cp` and similar, as a file and as a folder."""
        if command.name not in ("cp", "mv", "ln", "install") or len(command.operands) < 2:
            return
        *sources, target = command.operands
        for source in sources:
            content = self.files.get(key(source, self.cwd))
            if content is not None:
                self.write(target, content)
                self.write(f"{target}/{source.rstrip('/').rpartition('/')[2]}", content)


def _join_path(cwd: str, target: str) -> str:
    if target.startswith(("/", marks.HOME, "~")):
        return target
    return f"{cwd}/{target}"
