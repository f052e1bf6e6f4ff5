"""Parses a program's arguments as its own parser does: `getopt`, `getopt_long` and similar.

The options are in tables: `wrapper_table.py` has those of programs that run others,
`program_table.py` those of programs that write files. This module reads arguments by either.
Words come from `words.py`. A part that is unknown before a run is a mark, which is never an
option's letter or name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Value = Literal["none", "required", "optional"]
Style = Literal["gnu", "perl", "go", "exact", "attached"]
"""The syntax of long options.

`gnu`       `--long value`, `--long=value`, names may be abbreviated if unique
`perl`      as `gnu`, and an optional value may be the next word (Getopt::Long)
`go`        as `gnu` without abbreviations; `--flag=value` is allowed (pflag)
`exact`     as `gnu` without abbreviations
`attached`  any name is an option; its value is always behind `=` (firejail, valgrind)
"""
_KINDS: tuple[Value, ...] = ("none", "required", "optional")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")


@dataclass(frozen=True, slots=True)
class Syntax:
    """The syntax of a program's arguments: its options and where they end."""

    options: Mapping[str, Value] = field(default_factory=dict)
    """The kind of value of each option, by its name with dashes."""
    called: Mapping[str, str] = field(default_factory=dict)
    """The canonical name of an option, by each of its other names."""
    style: Style = "gnu"
    permutes: bool = False
    """Whether options may follow operands; else the first operand ends the options."""
    operands: int = 0
    """Number of own words before the command: `timeout 5 command`. Options may be between."""
    operand: str = ""
    """Pattern of an own word that may be missing: digits for `chrt`."""
    leading: bool = False
    """Whether a first word that is no option is an own word: `setarch x86_64 -R command`."""
    assignments: bool = False
    """Whether the program itself takes `A=b` before the command."""
    dash: bool = False
    """Whether a lone `-` is an option: `su -`, `env -`."""
    numbers: bool = False
    """Whether `-10` is an option: `nice -10`."""
    unknown: Literal["stop", "flag"] = "stop"
    """The meaning of an unlisted option: `flag`, no value follows; `stop`, unknown."""


@dataclass(frozen=True, slots=True)
class ParsedOptions:
    """Parsed arguments: options with values, the program's own words, and the words after those.

    `operands` are the program's own words; `words` the command that it runs, or its operands.
    """

    options: tuple[tuple[str, str | None], ...] = ()
    operands: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    understood: bool = True
    """False if an option is not in the table."""
    unread: tuple[str, ...] = ()
    """The words after that option."""
    assigned: tuple[str, ...] = ()
    """The assignments before the command, if the program itself takes them."""
    called: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)
    """See `Syntax`."""

    def has(self, *names: str) -> bool:
        """Whether one of these options was given, under any of its names."""
        canonical_names = {self.called.get(name, name) for name in names}
        return any(name in canonical_names for name, _ in self.options)

    def values(self, *names: str) -> list[str]:
        """The values given to these options, under any of their names, in order."""
        canonical_names = {self.called.get(name, name) for name in names}
        return [
            value for name, value in self.options if name in canonical_names and value is not None
        ]


class _Unknown(Exception):
    """The error for an option that is not in the table."""


def parse_options(syntax: Syntax, arguments: tuple[str, ...]) -> ParsedOptions:
    """Parse a program's arguments by its syntax.

    After an option that is not in the syntax the words stay unread, if the syntax says so
    (`unknown` is `stop`); the result is then not `understood`.
    """
    options: list[tuple[str, str | None]] = []
    operands: list[str] = []
    words: list[str] = []
    assigned: list[str] = []
    unread: tuple[str, ...] | None = None
    pending = list(arguments)
    if syntax.leading and pending and not pending[0].startswith("-"):
        operands.append(pending.pop(0))
    while pending:
        word = pending.pop(0)
        if word == "--":
            words += _after_dashes(syntax, operands, assigned, pending)
            break
        if syntax.dash and word == "-":
            options.append((word, None))
        elif syntax.numbers and re.fullmatch(r"-[-+]?\d+", word):
            options.append(("-", word[1:]))
        elif word.startswith("-") and len(word) > 1:
            try:
                if word.startswith("--"):
                    options.append(_read_long_option(syntax, word, pending))
                else:
                    options += _read_bundle(syntax, word, pending)
            except _Unknown:
                unread = tuple(pending)
                break
        elif syntax.assignments and not words and _ASSIGNMENT.match(word):
            assigned.append(word)
        elif len(operands) < syntax.operands and re.fullmatch(syntax.operand or r"(?s:.*)", word):
            operands.append(word)
        elif syntax.permutes:
            words.append(word)
        else:
            words += [word, *pending]
            break
    return ParsedOptions(
        tuple((syntax.called.get(name, name), value) for name, value in options),
        tuple(operands),
        tuple(words),
        unread is None,
        unread or (),
        tuple(assigned),
        syntax.called,
    )


def _after_dashes(
    syntax: Syntax, operands: list[str], assigned: list[str], pending: list[str]
) -> list[str]:
    """The words after `--`, which are `pending`.

    Assignments and missing operands among them are moved to `assigned` and `operands`.
    """
    rest = list(pending)
    while rest and syntax.assignments and _ASSIGNMENT.match(rest[0]):
        assigned.append(rest.pop(0))
    while (
        rest
        and len(operands) < syntax.operands
        and re.fullmatch(syntax.operand or r"(?s:.*)", rest[0])
    ):
        operands.append(rest.pop(0))
    return rest[1:] if rest[:1] == ["--"] and syntax.unknown == "stop" else rest


def _read_bundle(syntax: Syntax, word: str, pending: list[str]) -> list[tuple[str, str | None]]:
    """The options in `-abc`: letters, until one takes the rest of the word or the next word.

    The next words are in `pending`, from which a value is removed. Raises `_Unknown` for a letter
    that is not in the syntax, unless the syntax takes it as a flag.
    """
    options: list[tuple[str, str | None]] = []
    for at in range(1, len(word)):
        name, rest = f"-{word[at]}", word[at + 1 :]
        kind = syntax.options.get(name)
        if kind is None and syntax.unknown == "stop":
            raise _Unknown
        if kind in ("none", None):
            options.append((name, None))
            continue
        if syntax.style == "go":
            rest = rest.removeprefix("=")
        options.append((name, _take_value(syntax, kind, rest or None, pending)))
        break
    return options


def _read_long_option(syntax: Syntax, word: str, pending: list[str]) -> tuple[str, str | None]:
    spelling, equals, value = word.partition("=")
    if syntax.style == "attached":
        return spelling, value if equals else None
    name = _full_name(syntax, spelling)
    if name is None:
        return spelling, value if equals else None
    return name, _take_value(syntax, syntax.options[name], value if equals else None, pending)


def _full_name(syntax: Syntax, spelling: str) -> str | None:
    """The full name of a long option, which may be abbreviated.

    `None` for a flag that is not listed. Raises `_Unknown` if the syntax does not allow such flags.
    """
    if spelling in syntax.options:
        return spelling
    if syntax.style in ("gnu", "perl") and len(spelling) > 2:
        candidates = [name for name in syntax.options if name.startswith(spelling)]
        if len({syntax.called.get(name, name) for name in candidates}) == 1:
            return candidates[0]
        # A wrapper's table does not list synonyms: names with the same kind of value will do.
        if syntax.unknown == "stop" and len({syntax.options[name] for name in candidates}) == 1:
            return candidates[0]
    if syntax.unknown == "flag":
        return None
    raise _Unknown


def _take_value(
    syntax: Syntax, kind: Value | None, attached: str | None, pending: list[str]
) -> str | None:
    if kind == "none" or attached is not None:
        return attached
    if kind == "required":
        return pending.pop(0) if pending else None
    if syntax.style == "perl" and pending and not pending[0].startswith("-"):
        return pending.pop(0)
    return None


def option_kinds(short: str, long: str) -> dict[str, Value]:
    """The kind of value of each option, by its name with dashes, from `getopt` notation.

    `short` is such as `ab:c::`, `long` such as `name other= third[=]`: none, required, optional.
    """
    kinds: dict[str, Value] = {}
    for letter, colons in re.findall(r"([^:])(:{0,2})", short):
        kinds[f"-{letter}"] = _KINDS[len(colons)]
    for name, kind in re.findall(r"([\w.-]+)(\[=\]|=)?", long):
        kinds[f"--{name}"] = _KINDS[("", "=", "[=]").index(kind)]
    return kinds
