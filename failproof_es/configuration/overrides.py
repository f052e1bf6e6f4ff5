"""One-off changes from the command line: `--set key.path=value`, put over a configuration."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from failproof_es.configuration.yaml_tree import Location, YamlTree, dotted, located, parse_yaml
from failproof_es.problems import Problems

_FROM = Path("--set")
_REMEDY = "write it like --set execution.parallel_workers=8 or --set models[0].temperature=0.5"


def override(tree: YamlTree, settings: Sequence[str], problems: Problems) -> None:
    """Put each setting in its place in `tree`. A value is YAML: `8`, `null`, `[a, b]`.

    Keys that are not there yet are added - whether they exist the schema says - entries of
    lists are not. What can't be put anywhere is an error in `problems`.
    """
    for setting in settings:
        written, equals, text = setting.partition("=")
        location = located(written)
        if not equals or not location:
            problems.error(f"{setting!r} is not key.path=value", path=_FROM, remedy=_REMEDY)
            continue
        field = dotted(location)
        if location in tree.overridden:
            problems.error("is set twice", path=_FROM, field=field, remedy="keep one of them")
        elif not text.strip():
            problems.error("has no value", path=_FROM, field=field, remedy="write null or ''")
        elif (value := parse_yaml(_FROM, text, problems)) is not None:
            if wrong := _put(tree.value, location, value.value):
                problems.error(wrong, path=_FROM, field=field)
            else:
                tree.overridden.add(location)


def _put(values: Any, location: Location, value: Any) -> str | None:
    """Put `value` at `location` in nested dicts and lists; what is wrong when it can't be."""
    for depth, step in enumerate(location):
        where = dotted(location[:depth])
        if isinstance(step, int):
            if not isinstance(values, list):
                return f"{where} is not a list"
            if step >= len(values):
                return f"{where} has {len(values)} entries: there is no [{step}]"
        elif not isinstance(values, dict):
            return f"{where} is not a mapping"
        if depth == len(location) - 1:
            values[step] = value
        else:
            if isinstance(step, str) and values.get(step) is None:
                values[step] = {}
            values = values[step]
    return None
