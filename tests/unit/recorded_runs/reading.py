"""Reads what a source holds, without a database."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from failproof_es.recorded_runs.inspect_log import run_of
from failproof_es.recorded_runs.records import ForeignRun, RecordedAnswer
from failproof_es.recorded_runs.sources import source_file

FILES = Path(__file__).parent / "files"


def inspect_lines(name: str) -> list[dict[str, Any]]:
    """What Inspect's own reader found in a log."""
    text = (FILES / f"{name}.lines.jsonl").read_text("utf-8")
    return [json.loads(line) for line in text.splitlines()]


def inspect_run(lines: Iterable[dict[str, Any]], name: str = "capitals") -> ForeignRun:
    """The run in such lines."""
    path = FILES / f"{name}.eval"
    return run_of(path, iter(lines), files=(source_file(path),))


def all_of(run: ForeignRun) -> list[RecordedAnswer]:
    """Every answer."""
    return list(run.answers)


def unmapped(run: ForeignRun) -> dict[str, int]:
    """How often each thing has no place here."""
    return {each.what: each.count for each in run.remainder.all()}
