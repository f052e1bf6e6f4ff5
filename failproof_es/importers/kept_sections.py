"""Keeps the sections that a user added to a configuration which an import writes anew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any

from failproof_es.configuration.written import yaml_text
from failproof_es.configuration.yaml_tree import parse_yaml, read_yaml
from failproof_es.problems import Problems

_OF_IMPORT = {"matrix": frozenset({"prompts", "most"})}
"""Keys that an import writes or leaves out as the source has them."""
_MULTIPLYING = frozenset({"models", "matrix.parameters"})
"""The user's parts of which each makes more variants than the import counts for `matrix.most`."""
_MERGED = ("test_run", "prompts", "matrix")
_COMPARED = ("test_run", "models", "prompts")


@dataclass(frozen=True, slots=True)
class MergedConfiguration:
    """A new configuration with what was kept of the one before."""

    text: str
    kept: tuple[str, ...]
    """The sections and keys of the one before that are in the new one, too."""
    replaced: tuple[str, ...]
    """The sections of the one before that the new one has otherwise."""


def merge_configuration(text: str, path: Path, *, keep_models: bool) -> MergedConfiguration:
    """The new configuration `text` with the sections that only the file at `path` has.

    `keep_models`: its models, too, in place of the new ones. Its comments are not kept. Raises
    `InvalidInput` if the file cannot be read as YAML.
    """
    problems = Problems()
    old_tree, new_tree = read_yaml(path, problems), parse_yaml(path, text, problems)
    problems.raise_errors()
    assert old_tree is not None and new_tree is not None
    old: Any = old_tree.value if isinstance(old_tree.value, dict) else {}
    merged, kept = dict(new_tree.value), []
    if keep_models and old.get("models", merged["models"]) != merged["models"]:
        merged["models"] = old["models"]
        kept.append("models")
    for name, section in old.items():
        if name in _MERGED and isinstance(section, dict):
            added = _added_keys(name, section, merged.get(name, {}))
            kept += [f"{name}.{key}" for key in added]
            merged |= {name: {**merged.get(name, {}), **added}} if added else {}
        elif name not in merged:
            kept.append(name)
            merged[name] = section
    if not _MULTIPLYING.isdisjoint(kept) and (most := _larger_most(old, merged)) is not None:
        merged["matrix"] = {**merged["matrix"], "most": most}
        kept.append("matrix.most")
    replaced = [name for name in _COMPARED if name in old and _has_lost(old[name], merged[name])]
    whole_text = _with_comments(yaml_text(merged), text, kept) if kept else text
    return MergedConfiguration(whole_text, tuple(kept), tuple(replaced))


def _with_comments(body: str, text: str, kept: Sequence[str]) -> str:
    """The body with the comments around `text`, except on models or judges that were kept."""
    lines = text.splitlines(keepends=True)
    head = "".join(takewhile(_is_comment, lines))
    tail = "".join(reversed(list(takewhile(_is_comment, reversed(lines)))))
    has_judge = not {"judge", "judges"}.isdisjoint(kept)
    return ("" if "models" in kept else head) + body + ("" if has_judge else tail)


def _is_comment(line: str) -> bool:
    return line.startswith("#")


def _added_keys(
    name: str, section: Mapping[str, Any], written: Mapping[str, Any]
) -> dict[str, Any]:
    of_import = _OF_IMPORT.get(name, frozenset())
    return {
        key: value for key, value in section.items() if key not in written and key not in of_import
    }


def _larger_most(old: Mapping[str, Any], new: Mapping[str, Any]) -> int | None:
    """The `matrix.most` of `old` if the matrix of `new` has none or a smaller one, else `None`."""
    most, written = (
        matrix.get("most") if isinstance(matrix, dict) else None
        for matrix in (old.get("matrix"), new.get("matrix"))
    )
    is_larger = isinstance(most, int) and most > (written or 0)
    return most if "matrix" in new and is_larger else None


def _has_lost(old: Any, new: Any) -> bool:
    """Whether a value of the section before is not in the new one."""
    if isinstance(old, dict) and isinstance(new, dict):
        return any(new.get(key) != value for key, value in old.items())
    return bool(old != new)
