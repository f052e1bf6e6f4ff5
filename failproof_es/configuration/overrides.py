"""Overrides from the command line: `--set key.path=value`, applied to a configuration.

Also where its relative paths start: beside the file that names them. A value of `--set` belongs to
the command line, so its paths start from the current folder: they are made absolute here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from failproof_es.configuration.locations import Location, dotted, located
from failproof_es.configuration.place import EntryFolders
from failproof_es.configuration.yaml_tree import DEEPEST, YamlTree, parse_yaml
from failproof_es.configuration.yaml_tree import FROM_SETTING as _FROM
from failproof_es.problems import Problems, shown_value, text_list_problem
from failproof_es.support.plurals import plural
from failproof_es.support.shipped import PREFIX, resolve

_EXAMPLE = "execution.parallel_workers=8"
_REMEDY = f"write it like --set {_EXAMPLE} or --set models.0.temperature=0.5"
_COMMENT = re.compile(r"(?:^|\s)#")
_NUMBER = re.compile(r"[0-9]{1,6}")


def override(tree: YamlTree, settings: Sequence[str], problems: Problems) -> None:
    """Apply each setting to `tree`. A value is YAML: `8`, `null`, `[a, b]`.

    An entry of a list is named by its number, counted from 0: `models.0` or `models[0]`.
    Missing keys are added (the schema checks later whether they are known); entries of lists
    are not. Errors in `problems`: a setting without a valid location, and `settings` that are
    not a list or tuple of texts.
    """
    if (misfit := text_list_problem(settings, "settings", _EXAMPLE)) is not None:
        problems.problems.append(misfit)
        return
    for setting in settings:
        key_path, equals, text = setting.partition("=")
        location = _with_entries(tree.value, located(key_path))
        if not equals or not 0 < len(location) <= DEEPEST:
            message = f"{shown_value(setting)} is not key.path=value"
            problems.error("invalid-option", message, path=_FROM, remedy=_REMEDY)
            continue
        field = dotted(location)
        if earlier := [place for place in tree.overridden if place[: len(location)] == location]:
            first = min(earlier, key=len)
            wrong = "is set twice" if first == location else f"would replace {dotted(first)}"
            problems.error(
                "options-conflict", wrong, path=_FROM, field=field, remedy="keep one of them"
            )
        elif not text.strip():
            problems.error(
                "empty-value", "has no value", path=_FROM, field=field, remedy="write null or ''"
            )
        elif _is_cut(text):
            remedy = f"""put the value in quotes: --set "{key_path}='...'\""""
            wrong = "has ` #`, where YAML reads a comment"
            problems.error("invalid-value", wrong, path=_FROM, field=field, remedy=remedy)
        elif (value := parse_yaml(_FROM, text, problems)) is not None:
            if conflict := _set_value(tree, location, value.value):
                problems.error("unknown-field", conflict, path=_FROM, field=field)
            else:
                tree.overridden.add(location)


def _is_cut(text: str) -> bool:
    """Whether YAML reads the end of the value as a comment: a further letter changes nothing."""
    if _COMMENT.search(text) is None:
        return False
    value, longer = (parse_yaml(_FROM, setting, Problems()) for setting in (text, f"{text}x"))
    return (value and value.value) == (longer and longer.value)


def _with_entries(values: Any, location: Location) -> Location:
    """`location` in `values`, with a number wherever a step such as `0` names an entry of a
    list."""
    steps: list[str | int] = []
    for step in location:
        if isinstance(values, list) and isinstance(step, str) and _NUMBER.fullmatch(step):
            step = int(step)
        steps.append(step)
        values = _child(values, step)
    return tuple(steps)


def _child(values: Any, step: str | int) -> Any:
    """The value at `step` of a mapping or a list; `None` if there is none."""
    if isinstance(values, dict):
        return values.get(step)
    if isinstance(values, list) and isinstance(step, int) and step < len(values):
        return values[step]
    return None


def _set_value(tree: YamlTree, location: Location, value: Any) -> str | None:
    """Put `value` at `location` in `tree`. Returns the error if that is impossible, else `None`."""
    values = tree.value
    for depth, step in enumerate(location):
        if misfit := _misfit(values, step, dotted(location[:depth])):
            return misfit
        if depth == len(location) - 1:
            values[step] = value
        else:
            if isinstance(step, str) and values.get(step) is None:
                values[step] = {}
                tree.overridden.add(location[: depth + 1])
            values = values[step]
    return None


def _misfit(values: Any, step: str | int, where: str) -> str | None:
    """Why `step` is not valid in `values`, which are at the path `where`; `None` if it is valid."""
    if isinstance(values, list):
        entries = plural(len(values), "entry", "entries")
        if isinstance(step, str):
            return f"{where} is a list of {entries}: name one by its number, such as {where}.0"
        if step >= len(values):
            return f"{where} has {entries}, counted from 0: there is no {where}.{step}"
        return None
    if isinstance(values, dict) and isinstance(step, str):
        return None
    return f"{where} is not a {'list' if isinstance(step, int) else 'mapping'}"


# -- paths ----------------------------------------------------------------------------------

_ENTRY = "*"
_MODELS: tuple[Location, ...] = (("models", _ENTRY), ("judge",), ("judges", _ENTRY))
PATHS: tuple[Location, ...] = (
    ("prompts", "path"),
    ("prices", "file"),
    ("output", "file", "path"),
    *((*model, name) for model in _MODELS for name in ("ca_file", "model")),
)
"""Every key that holds a path, or a list of paths. `model` does where it names a GGUF file."""
WEIGHTS = ".gguf"


def set_folder(tree: YamlTree, path: Path, folder: Path, problems: Problems) -> None:
    """Set `test_run.folder`, where relative paths start, to `folder`.

    Paths from `--set` are made absolute. A file that has `test_run.folder` itself is an error in
    `problems`.
    """
    test_run = tree.value.get("test_run")
    if isinstance(test_run, dict):
        if "folder" in test_run:
            found_in, line = tree.place_of(("test_run", "folder"), path)
            problems.error(
                "unknown-field", "is not a known field: the program records it",
                path=found_in, line=line, field="test_run.folder", remedy="remove it",
            )  # fmt: skip
        test_run["folder"] = str(folder)
    for pattern in PATHS:
        for location in _locations(tree.value, pattern):
            if tree.place_of(location, path)[0] == _FROM:
                _make_absolute(tree.value, location)


def place_of_model(tree: YamlTree, path: Path, folder: Path, location: Location) -> EntryFolders:
    """Folders and place of the model's entry at this location of the file `path`.

    Relative paths start from `folder`. Its class belongs to `folder`, too; a class from `--set`
    belongs to the current folder.
    """
    from_setting = tree.place_of((*location, "class"), path)[0] == _FROM
    class_folder = Path.cwd() if from_setting else folder
    return EntryFolders(str(folder), class_folder, dotted(location))


def _locations(values: Any, pattern: Location, at: Location = ()) -> Iterator[Location]:
    """The locations of texts that match a pattern, or that are in a list that matches it.

    `*` in a pattern stands for every entry of a list. `at` is the location of `values`.
    """
    if pattern and pattern[0] != _ENTRY:
        if isinstance(values, dict) and pattern[0] in values:
            yield from _locations(values[pattern[0]], pattern[1:], (*at, pattern[0]))
    elif isinstance(values, list):
        for number, value in enumerate(values):
            yield from _locations(value, pattern[1:], (*at, number))
    elif not pattern and isinstance(values, str):
        yield at


def _make_absolute(values: Any, location: Location) -> None:
    for step in location[:-1]:
        values = values[step]
    path = values[location[-1]]
    is_name = location[-1] == "model" and not path.endswith(WEIGHTS)
    if not (is_name or path.startswith(PREFIX) or not path.strip() or "\0" in path):
        values[location[-1]] = str(resolve(path, None))
