"""The table of wrappers: reads and checks `wrappers.toml` once."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from importlib import resources
from typing import Any, Literal

from failproof_es.shell_analysis.safety.options import Syntax, option_kinds

Runs = Literal["words", "text", "arguments", "nothing"]


@dataclass(frozen=True, slots=True)
class Wrapper:
    """A program that runs a command in its arguments; `wrappers.toml` describes the fields.

    `syntax` is that of the wrapper's own words, the other fields say what the words after them
    mean.
    """

    syntax: Syntax
    runs: Runs = "words"
    text: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    shell: tuple[str, ...] = ()
    asks: tuple[str, ...] = ()
    starts_shell: bool = False
    login: tuple[str, ...] = ()


@cache
def wrapper_table() -> Mapping[str, Wrapper]:
    """Every wrapper by its name; a subcommand by a name such as `docker exec`."""
    path = resources.files(__package__).joinpath("wrappers.toml")
    entries: dict[str, dict[str, Any]] = tomllib.loads(path.read_text(encoding="utf-8"))
    return {name: _wrapper(_merge_base(entries, name)) for name in entries}


def _merge_base(entries: Mapping[str, dict[str, Any]], name: str) -> dict[str, Any]:
    """The entry of that name, merged with the entry that its `as` names."""
    entry = dict(entries[name])
    base = entry.pop("as", None)
    return entry if base is None else {**_merge_base(entries, base), **entry}


def _wrapper(entry: dict[str, Any]) -> Wrapper:
    options = option_kinds(entry.pop("short", ""), entry.pop("long", ""))
    in_syntax = {field.name for field in fields(Syntax)}
    syntax = Syntax(options, **{key: entry.pop(key) for key in in_syntax & entry.keys()})
    wrapper = Wrapper(syntax, **{key: _tuple(value) for key, value in entry.items()})
    if (
        unknown := {*wrapper.text, *wrapper.words, *wrapper.shell, *wrapper.asks, *wrapper.login}
        - options.keys()
    ):
        raise ValueError(f"no option of the wrapper: {', '.join(sorted(unknown))}")
    return wrapper


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
