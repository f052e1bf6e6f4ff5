"""The paths of a configuration: where they stand, and where relative ones start.

A relative path means beside the file that names it. A value of `--set` belongs to the command line,
so its paths start from the current folder: they are made absolute before anything reads them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from failproof_es.configuration.yaml_tree import Location, YamlTree
from failproof_es.problems import Problems
from failproof_es.support.paths import resolve
from failproof_es.support.shipped import PREFIX

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
_SETTING = Path("--set")


@dataclass(frozen=True, slots=True)
class Place:
    """The folders that an entry of `models` belongs to."""

    folder: str | None = None
    """Where its relative paths start; `None` is the current folder."""
    class_folder: Path | None = field(default=None, compare=False)
    """Where the module of its class is looked for first. A record does not decide it: whose
    record it is may not be known. `None` is the current folder."""


def set_folder(tree: YamlTree, path: Path, folder: Path, problems: Problems) -> None:
    """Note in the configuration where its relative paths start; make those of `--set` absolute."""
    test_run = tree.value.get("test_run")
    if isinstance(test_run, dict):
        if "folder" in test_run:
            found_in, line = tree.place_of(("test_run", "folder"), path)
            problems.error(
                "is not a known key: the program records it", path=found_in, line=line,
                field="test_run.folder", remedy="remove it",
            )  # fmt: skip
        test_run["folder"] = str(folder)
    for pattern in PATHS:
        for location in _locations(tree.value, pattern):
            if tree.place_of(location, path)[0] == _SETTING:
                _make_absolute(tree.value, location)


def place_of_model(tree: YamlTree, path: Path, folder: Path, location: Location) -> Place:
    """The place of the model at this location, with a class of its own from the same folder."""
    from_setting = tree.place_of((*location, "class"), path)[0] == _SETTING
    return Place(str(folder), Path.cwd() if from_setting else folder)


def _locations(values: Any, pattern: Location, at: Location = ()) -> Iterator[Location]:
    """The locations of texts that a pattern fits; a list where the pattern ends has several."""
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
    written = values[location[-1]]
    is_name = location[-1] == "model" and not written.endswith(WEIGHTS)
    if not (is_name or written.startswith(PREFIX) or not written.strip() or "\0" in written):
        values[location[-1]] = str(resolve(written, None))
