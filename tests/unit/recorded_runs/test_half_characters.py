"""Half a character anywhere in a source: no text holds it, and all else is imported."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from failproof_es.problems import InvalidInput
from failproof_es.recorded_runs.every_eval_ever import read_every_eval_ever
from failproof_es.recorded_runs.garak_report import read_garak_report
from failproof_es.recorded_runs.promptfoo_results import read_promptfoo_results
from failproof_es.recorded_runs.records import ForeignRun
from tests.every import every
from tests.unit.recorded_runs.reading import FILES, inspect_lines, inspect_run

HALF = "\ud83d"
Documents = list[Any]


def as_file(name: str, read: Callable[[Path], ForeignRun]) -> Callable[[Documents, Path], Any]:
    def run(documents: Documents, folder: Path) -> ForeignRun:
        path = folder / name
        path.write_text("\n".join(map(json.dumps, documents)))
        return read(path)

    return run


def lines(name: str) -> Documents:
    return [json.loads(line) for line in (FILES / name).read_text("utf-8").splitlines()]


def promptfoo() -> Documents:
    [document] = [json.loads((FILES / "promptfoo_results.json").read_text("utf-8"))]
    rows = document["results"]["results"]
    document["results"]["results"] = [
        next(row for row in rows if row["vars"]["country"] == country)
        for country in ("France", "Chile")
    ]
    document["config"] = {"description": "d"}
    return [document]


def garak() -> Documents:
    entries = lines("garak.report.jsonl")
    kinds = {(entry["entry_type"], entry.get("status")): entry for entry in entries}
    return list(kinds.values())


def variants(value: Any) -> Iterator[Any]:
    """The value with half a character in each text, and in each name, one at a time."""
    if isinstance(value, str):
        yield f"{HALF}{value}"
    elif isinstance(value, list):
        for at, part in enumerate(value):
            yield from ([*value[:at], other, *value[at + 1 :]] for other in variants(part))
    elif isinstance(value, dict):
        for name, part in value.items():
            yield from ({**value, name: other} for other in variants(part))
        yield {**value, f"{HALF}new": "x"}


@pytest.mark.long
@every(
    ("documents", "run"),
    [
        (promptfoo(), as_file("r.json", read_promptfoo_results)),
        (garak(), as_file("r.report.jsonl", read_garak_report)),
        (lines("0f4ac4a6-8b4e-4c1d-9d3a-0123456789ab_samples.jsonl")[:1],
         as_file("s.jsonl", read_every_eval_ever)),
        ([*inspect_lines("capitals")[:2], {"end": 1}],
         lambda documents, _: inspect_run(documents)),
    ],
)  # fmt: skip
def test_half_a_character_anywhere_ends_in_no_error(
    documents: Documents, run: Callable[[Documents, Path], ForeignRun], tmp_path: Path
) -> None:
    readable = 0
    for variant in variants(documents):
        try:
            read = run(variant, tmp_path)
            recorded = [*read.answers, *read.remainder.all()]
        except InvalidInput:
            continue
        recorded += [read.name, read.claims, read.parameters, read.tool_version]
        orjson.dumps(recorded, default=lambda model: model.model_dump(mode="json"))
        readable += 1
    assert readable > 10
