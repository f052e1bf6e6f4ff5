"""A simple command as the rules see it: unquoted, unwrapped, with its standard input."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from failproof_es.shell_analysis.safety.text import marks


@dataclass(frozen=True, slots=True)
class Redirection:
    """One redirection of a command. `descriptor` is the number before the operator, often empty.

    `target` is a path, a descriptor, or the text itself for here-documents and `<<<`.
    """

    operator: str
    descriptor: str
    target: str

    @property
    def writes(self) -> bool:
        """Whether the redirection opens a file for writing."""
        if self.operator == ">&":
            return self.target != "-" and not self.target.rstrip("-").isdigit()
        return self.operator in (">", ">>", ">|", "&>", "&>>", "<>")

    @property
    def empties(self) -> bool:
        """Whether the redirection truncates its target file."""
        return self.writes and self.operator not in (">>", "&>>", "<>")


@dataclass(frozen=True, slots=True)
class Feed:
    """The standard input of a command.

    `text` is its content, with marks for unknown parts; `None` if it is unknown. `upstream` are the
    commands whose output it is, `path` the file that it comes from.
    """

    text: str | None = None
    upstream: tuple[ShellCommand, ...] = ()
    path: str | None = None


@dataclass(frozen=True, slots=True)
class ShellCommand:
    """One command under one reading (possible expansion) of its words.

    `name` is without its folder. `feed` is its standard input, `cwd` its directory, `.` for the one
    in which the text starts.
    """

    name: str
    arguments: tuple[str, ...] = ()
    redirections: tuple[Redirection, ...] = ()
    feed: Feed = field(default_factory=Feed)
    cwd: str = "."
    files: Mapping[str, str] = field(default_factory=dict)
    """Contents, by path, of files that earlier parts of the same text wrote."""
    path: str = ""
    """The name as written."""
    interactive: bool = False
    """Whether a wrapper asks before each run (`find -ok`, `xargs -p`)."""

    @property
    def operands(self) -> tuple[str, ...]:
        """The arguments that are not options, assuming that options take no value."""
        at = self.arguments.index("--") if "--" in self.arguments else len(self.arguments)
        before, behind = self.arguments[:at], self.arguments[at + 1 :]
        return (*(word for word in before if not word.startswith("-") or word == "-"), *behind)

    def operands_without(self, valued: str, long_valued: frozenset[str] = frozenset()) -> list[str]:
        """The operands, without values of options.

        The short options whose letters are in `valued` and the long ones in `long_valued` take the
        next argument as their value.
        """
        operands: list[str] = []
        pending = iter(self.arguments)
        for argument in pending:
            if argument == "--":
                return operands + list(pending)
            if argument.startswith("--"):
                if argument in long_valued:
                    next(pending, None)
            elif argument.startswith("-") and len(argument) > 1:
                if argument[-1] in valued and not any(c in valued for c in argument[1:-1]):
                    next(pending, None)
            else:
                operands.append(argument)
        return operands

    def has(self, letters: str = "", *names: str) -> bool:
        """Whether one of the short options in `letters` (bundled or not) or of the long ones is
        given."""
        for argument in self.arguments:
            if argument == "--":
                return False
            if argument.startswith("--"):
                if argument.partition("=")[0] in names:
                    return True
            elif argument.startswith("-") and any(letter in argument[1:] for letter in letters):
                return True
        return False

    def values(self, letter: str = "", *names: str) -> list[str]:
        """The values of a short option and of long ones, in order, attached or not.

        `-o x`, `-ox`, `--output x`, `--output=x`; empty text if the value is missing.
        """
        values = []
        arguments = self.arguments
        for at, argument in enumerate(arguments):
            following = arguments[at + 1] if at + 1 < len(arguments) else ""
            name, equals, value = argument.partition("=")
            if name in names:
                values.append(value if equals else following)
            elif letter and argument.startswith("-") and not argument.startswith("--"):
                bundle, there, attached = argument[1:].partition(letter)
                if there and (not bundle or bundle.isalnum()):
                    values.append(attached or following)
        return values

    @property
    def display_text(self) -> str:
        """The command and its redirections, for people, at most 120 characters."""
        redirections = [
            f"{redirection.operator}{redirection.target}" for redirection in self.redirections
        ]
        return marks.abbreviate(" ".join([self.path or self.name, *self.arguments, *redirections]))
