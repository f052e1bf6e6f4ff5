"""Templates for new suites: a valid case file with comments on how to continue.

A dialect offers templates as files in its package: `new_suite.yaml`, `.jsonl`, `.toml`, one for
each format that it offers. `new_suite.txt` is the guidance for formats without comments.
"""

from __future__ import annotations

import sys
from collections.abc import Collection
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from failproof_es.dialects.protocol import Dialect
from failproof_es.problems import InvalidInput

_STEM = "new_suite"
_GUIDANCE = ".txt"
_COMMENTED = (".yaml", ".toml")
_SAME = {".yml": ".yaml"}


@dataclass(frozen=True, slots=True)
class NewSuite:
    """The content of a new file, with `guidance` for people if its format has no comments.

    `guidance` is `None` for other formats, and if the dialect has none.
    """

    content: bytes
    guidance: str | None


def new_suite(dialect: Dialect, path: Path) -> NewSuite:
    """The new suite to write to `path`, in the format of its suffix.

    Raises `InvalidInput` if the dialect has no template for that suffix.
    """
    offered = _templates(dialect)
    suffixes = _suffixes(dialect, offered)
    suffix = path.suffix.lower()
    template = offered.get(_SAME.get(suffix, suffix))
    if template is None or suffix == _GUIDANCE:
        alternatives = " or ".join(f"{path.stem or 'suite'}{suffix}" for suffix in suffixes)
        raise InvalidInput.because(
            "no-template",
            f"there is no template of the dialect {dialect.name!r} for {suffix or 'no suffix'}",
            remedy=f"name the file {alternatives}",
        )
    guidance = None if template.name.endswith(_COMMENTED) else offered.get(_GUIDANCE)
    guidance_text = None if guidance is None else guidance.read_text("utf-8").strip("\n")
    return NewSuite(template.read_bytes(), guidance_text)


def suffix_of_new(dialect: Dialect) -> str:
    """The default suffix of a new suite: of a format with comments, if there is one.

    Raises `InvalidInput` if the dialect has no template.
    """
    return _suffixes(dialect, _templates(dialect))[0]


def _suffixes(dialect: Dialect, offered: Collection[str]) -> list[str]:
    """The suffixes of the dialect's templates, those of formats with comments first."""
    suffixes = [suffix for suffix in offered if suffix != _GUIDANCE]
    if not suffixes:
        raise InvalidInput.because("no-template", f"the dialect {dialect.name!r} has no template")
    return sorted(suffixes, key=lambda suffix: (suffix not in _COMMENTED, suffix))


def _templates(dialect: Dialect) -> dict[str, Traversable]:
    """The dialect's template and guidance files, by suffix; empty if it has none."""
    package = sys.modules[type(dialect).__module__].__package__
    if not package:
        return {}
    return {
        Path(file.name).suffix: file
        for file in files(package).iterdir()
        if Path(file.name).stem == _STEM
    }
