"""The table of programs' options: names from `--help`, meanings from `utilities.toml`."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any, Literal

Argument = Literal["none", "required", "optional"]


_AS_WRITTEN = frozenset({"permutes", "number_place", "attached", "operands", "default", "command"})
_SETS_OF_OPTIONS = ("shows", "any_order", "counts", "last_value", "signals")
"""Keys of `utilities.toml` that are fields of `Utility`: as they are, and as canonical names."""


@dataclass(frozen=True, slots=True)
class Name:
    """One name of an option: the canonical name of the option, and whether it takes a value."""

    option: str
    argument: Argument


@dataclass(frozen=True)
class Utility:
    """The rules of a program's command line; `utilities.toml` describes the fields."""

    names: Mapping[str, Name]
    free: bool = False
    permutes: bool = True
    number: str | None = None
    number_place: Literal["any", "first", "only"] = "any"
    attached: bool = True
    script: tuple[str, ...] = ()
    operands: int | None = None
    shows: frozenset[str] = frozenset()
    default: str | None = None
    command: int | None = None
    last: tuple[frozenset[str], ...] = ()
    groups: tuple[frozenset[str], ...] = ()
    any_order: frozenset[str] = frozenset()
    counts: frozenset[str] = frozenset()
    last_value: frozenset[str] = frozenset()
    signals: frozenset[str] = frozenset()
    defaults: Mapping[str, str] = field(default_factory=dict)
    means: Mapping[str, tuple[tuple[str, str | None], ...]] = field(default_factory=dict)

    def conflict(self, one: str, other: str) -> bool:
        """Whether the order of two options, given by their canonical names, may matter."""
        if not self.free:
            return True
        if one == other:
            return one not in self.any_order
        return any(one in group and other in group for group in self.groups)

    def long_name(self, spelling: str) -> Name | None:
        """The option of a long name, which may be abbreviated if unique; `None` if unknown or
        ambiguous."""
        if spelling in self.names:
            return self.names[spelling]
        candidates = {
            name.option: name for key, name in self.names.items() if key.startswith(spelling)
        }
        return next(iter(candidates.values())) if len(candidates) == 1 else None


def utility(name: str) -> Utility | None:
    """The rules of a program's options; `None` if `utilities.toml` has none."""
    return _utilities().get(name)


def alias(name: str) -> tuple[str, ...] | None:
    """The program and options that a name such as `egrep` stands for; `None` for any other name."""
    return _aliases().get(name)


@cache
def option_names(program: str) -> Mapping[str, Name]:
    """The options of a program by each of their names, from its `--help`.

    Empty if the table lacks the program. Unlike `utility`, this includes programs that have no
    rules of their own.
    """
    known_utility = utility(program)
    return _names(_data()[0].get(program, {})) if known_utility is None else known_utility.names


@cache
def _data() -> tuple[dict[str, dict[str, str]], dict[str, dict[str, Any]]]:
    folder = resources.files(__package__)
    table = json.loads(folder.joinpath("option_table.json").read_text(encoding="utf-8"))
    return table, tomllib.loads(folder.joinpath("utilities.toml").read_text(encoding="utf-8"))


@cache
def _aliases() -> dict[str, tuple[str, ...]]:
    return {name: tuple(entry["alias"]) for name, entry in _data()[1].items() if "alias" in entry}


@cache
def _utilities() -> dict[str, Utility]:
    table, entries = _data()
    return {
        name: _utility({} if entry.get("names_only") else table.get(name, {}), entry)
        for name, entry in entries.items()
        if "alias" not in entry
    }


def _utility(help_options: dict[str, str], entry: dict[str, Any]) -> Utility:
    names = _names(help_options) | _names(entry.get("options", {}))

    def option(spelling: str) -> str:
        return names[spelling].option

    def options(key: str) -> frozenset[str]:
        return frozenset(option(spelling) for spelling in entry.get(key, ()))

    def groups(key: str) -> tuple[frozenset[str], ...]:
        return tuple(frozenset(map(option, group)) for group in entry.get(key, ()))

    def spelled(spelling: str) -> tuple[str, str | None]:
        name, equals, value = spelling.partition("=")
        return option(name), value if equals else None

    means = {
        _key(*spelled(spelling)): tuple(map(spelled, instead))
        for spelling, instead in entry.get("means", {}).items()
    }
    further: dict[str, Any] = {key: options(key) for key in _SETS_OF_OPTIONS}
    further |= {key: entry[key] for key in _AS_WRITTEN & entry.keys()}
    return Utility(
        names=names,
        free=entry.get("order") == "free",
        number=option(entry["number"]) if "number" in entry else None,
        script=tuple(map(option, entry.get("script", ()))),
        last=groups("last"),
        groups=groups("ordered") + groups("last"),
        defaults={option(name): value for name, value in entry.get("defaults", {}).items()},
        means=means,
        **further,
    )


def _key(option: str, value: str | None) -> str:
    return option if value is None else f"{option}={value}"


def _names(options: dict[str, str]) -> dict[str, Name]:
    """The options by each of their names. Of two entries with one name the last counts.

    A key of `options` has all names of one option, separated by blanks, the canonical one first;
    its value is the kind of argument, or one for each name. Raises `ValueError` for an unknown
    kind.
    """
    by_name: dict[str, Name] = {}
    for spellings, kinds in options.items():
        names = spellings.split()
        arguments = kinds.split() * (1 if " " in kinds else len(names))
        for name, argument in zip(names, arguments, strict=True):
            if argument not in ("none", "required", "optional"):
                raise ValueError(f"{spellings}: {argument}")
            # mypy does not narrow a string to the literals that it was compared with.
            by_name[name] = Name(names[0], argument)  # type: ignore[arg-type]
    return by_name
