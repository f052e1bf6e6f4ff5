"""Recognises files of other tools where a configuration is expected, and names their import."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import Any

from failproof_es.problems import Problem

_OURS = frozenset({"test_run", "models", "matrix", "judge", "judges"})
_PROMPTFOO = frozenset({"providers", "targets", "tests", "defaultTest", "scenarios"})
_SAMPLE = frozenset({"input", "target"})


def problem_of_file(path: Path) -> Problem | None:
    """The problem of a file that by its name is another tool's; `None` if it may be ours."""
    suffix = path.suffix.lower()
    if path.name.startswith("promptfooconfig."):
        return _import(path, "a configuration of promptfoo", "promptfoo")
    if suffix == ".parquet":
        return _import(path, "a table of cases", "parquet")
    if suffix == ".arrow":
        return _import(path, "a part of a data set", "hf", path.parent)
    if suffix == ".eval":
        return _import(path, "a log of Inspect", "inspect-log")
    if suffix == ".py":
        remedy = (
            "of an Inspect task import the samples: failproof-es import inspect SAMPLES -o FOLDER"
        )
        return Problem("foreign-format", "is a program, not a configuration", path, remedy=remedy)
    return None


def problem_of_content(path: Path, value: Any) -> Problem | None:
    """The problem of a file whose content is another tool's; `None` if it may be ours."""
    first = value[0] if isinstance(value, list) and value else None
    if isinstance(first, dict) and first.keys() >= _SAMPLE:
        return _import(path, "a list of Inspect's samples", "inspect")
    if not isinstance(value, dict) or _OURS & value.keys():
        return None
    prompts = value.get("prompts")
    if _PROMPTFOO & value.keys() and not isinstance(prompts, dict):
        return _import(path, "a configuration of promptfoo", "promptfoo")
    if {"config", "results"} <= value.keys():
        return _import(path, "a file of promptfoo's results", "promptfoo-results")
    if {"eval", "status"} <= value.keys():
        return _import(path, "a log of Inspect", "inspect-log")
    return None


def _import(path: Path, what: str, kind: str, source: Path | None = None) -> Problem:
    """The problem of a file that is `what`, with the command to import `source`, else the file."""
    is_recorded = kind in ("inspect-log", "promptfoo-results")
    output = "" if is_recorded else " -o FOLDER"
    remedy = f"failproof-es import {kind} {quote(str(source or path))}{output}"
    return Problem("foreign-format", f"is {what}: import it", path, remedy=remedy)
