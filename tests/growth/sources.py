"""The readers of other tools' files: importers of cases, and of recorded runs.

Importers come from their registry, the kinds of recorded runs from their table. A source holds a
hostile text as a whole, wherever a text of it may be, or as very many short records.
"""

from __future__ import annotations

import csv
import io
import json
import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import orjson

from failproof_es.importers.data_sets import RecordImporter
from failproof_es.importers.own_suites import SUITE
from failproof_es.importers.protocol import Findings, Options
from failproof_es.importers.registry import IMPORTERS, importer_named
from failproof_es.importers.source import Source
from failproof_es.importers.suites import write_suites
from failproof_es.recorded_runs.inspect_log import run_of
from failproof_es.recorded_runs.kinds import READERS
from failproof_es.recorded_runs.records import ForeignRun
from failproof_es.recorded_runs.sources import source_file
from tests.growth.work import Reader, Work

ROOT = Path(__file__).parents[1]
RECORDED = ROOT / "unit" / "recorded_runs" / "files"
_RECORD_CHARACTERS = 64
"""Of a hostile text there is one record for so many."""
_FREE_TEXT = 20
"""A text of so many characters with a space in it is free text, and no id or name of a kind."""

Contents = Mapping[str, str]
"""A source: the content of each file by its name; the first one is named to the reader."""
Make = Callable[[str], Contents]


def _many(text: str) -> int:
    return max(1, len(text) // _RECORD_CHARACTERS)


def _lines(records: list[Any]) -> str:
    return "".join(f"{json.dumps(record)}\n" for record in records)


# -- importers -----------------------------------------------------------------------------------


def _tables(importer: RecordImporter) -> Iterator[tuple[str, Make]]:
    columns = list(importer.defaults.values())

    def table(records: list[dict[str, str]], suffix: str) -> Contents:
        match suffix:
            case ".json":
                content = json.dumps(records)
            case ".jsonl":
                content = _lines(records)
            case _:
                file = io.StringIO()
                writer = csv.DictWriter(file, columns, delimiter="\t" if suffix == ".tsv" else ",")
                writer.writeheader()
                writer.writerows(records)
                content = file.getvalue()
        return {f"source{suffix}": content}

    def bare(suffix: str, text: str) -> Contents:
        return {f"source{suffix}": text}

    def one(suffix: str, text: str) -> Contents:
        return table([dict.fromkeys(columns, text)], suffix)

    def many(suffix: str, text: str) -> Contents:
        texts = (f"{text[:9]}{number}" for number in range(_many(text)))
        return table([dict.fromkeys(columns, each) for each in texts], suffix)

    for suffix in importer.suffixes:
        yield f"as {suffix}", partial(bare, suffix)
        yield f"in {suffix}", partial(one, suffix)
        yield f"many in {suffix}", partial(many, suffix)


_ASSERTIONS = ("contains", "equals", "icontains", "contains-any", "not-regex", "llm-rubric")


def _promptfoo(prompts: list[str], texts: list[str]) -> Contents:
    tests = [
        {
            "vars": {"a": text},
            "assert": [{"type": kind, "value": text} for kind in _ASSERTIONS],
        }
        for text in texts
    ]
    cells = io.StringIO()
    csv.writer(cells).writerows([["a", "__expected"], *([text, text] for text in texts)])
    document = {"prompts": prompts, "tests": [*tests, "file://tests.csv"], "providers": ["x:y"]}
    return {"promptfooconfig.yaml": json.dumps(document), "tests.csv": cells.getvalue()}


BY_HAND: Mapping[str, Mapping[str, Make]] = {
    "promptfoo": {
        "as YAML": lambda text: {"promptfooconfig.yaml": text},
        "in YAML": lambda text: _promptfoo([f"{{{{a}}}} {text}", "{{a}}"], [text]),
        "many in YAML": lambda text: _promptfoo(
            ["{{a}}"], [f"{text[:9]}{n}" for n in range(_many(text))]
        ),
    },
    "suite": {
        "as JSON Lines": lambda text: {"cases.jsonl": text},
        "in JSON Lines": lambda text: {"cases.jsonl": _lines([_case(text, "a")])},
        "many in JSON Lines": lambda text: {
            "cases.jsonl": _lines([_case(text[:9], str(n)) for n in range(_many(text))])
        },
        "defective, many": lambda text: {
            "cases.jsonl": _lines([_case("x", "a"), *([{text[:9]: 1}] * _many(text))])
        },
    },
}
"""The sources of importers that read something else than records."""


def _case(text: str, case_id: str) -> dict[str, Any]:
    return {"case_id": case_id, "suite_id": "s", "prompt": text, "expected_response": f"a{text}"}


def sources_of(name: str) -> dict[str, Make]:
    """The hostile sources of an importer. None: it has to be given some."""
    if name in BY_HAND:
        return dict(BY_HAND[name])
    importer = importer_named(name)
    return dict(_tables(importer)) if isinstance(importer, RecordImporter) else {}


_BINARY = frozenset({".parquet", ".arrow"})


def binary_importers() -> set[str]:
    """Importers of columns alone: a child process with limits reads them, and writes JSON Lines.

    What follows is the work of every importer of records.
    """
    return {
        name
        for name in IMPORTERS.names()
        if isinstance(importer := importer_named(name), RecordImporter)
        and not set(importer.suffixes) - _BINARY
    }


def importers() -> Iterator[Reader]:
    """Every importer of text."""
    for name in IMPORTERS.names():
        if name not in binary_importers():
            for label, make in sources_of(name).items():
                yield Reader(f"{name} {label}", partial(_imported, name, make))


def _imported(name: str, make: Make, text: str) -> dict[str, Work]:
    path = _written(make(text))

    def work() -> object:
        source, findings = Source(path), Findings()
        if name == SUITE.name:
            return SUITE.files(source, findings)
        cases = importer_named(name).cases(source, Options(), findings)
        return write_suites(cases, path.parent / "written", "made", findings)

    return {"": work}


_folders = count()
_room = tempfile.TemporaryDirectory(prefix="growth-")


def _written(contents: Contents) -> Path:
    folder = Path(_room.name) / str(next(_folders))
    (folder / "written").mkdir(parents=True)
    for name, content in contents.items():
        (folder / name).write_bytes(content.encode("utf-8", "surrogatepass"))
    return folder / next(iter(contents))


# -- recorded runs -------------------------------------------------------------------------------


def _with(value: Any, text: str) -> Any:
    """The value with the text in the place of each free text."""
    match value:
        case dict():
            return {name: _with(inner, text) for name, inner in value.items()}
        case list():
            return [_with(inner, text) for inner in value]
        case str() if len(value) >= _FREE_TEXT and " " in value:
            return text
        case _:
            return value


def _recorded_lines(name: str) -> list[Any]:
    return [orjson.loads(line) for line in (RECORDED / name).read_text("utf-8").splitlines()]


def _few(records: list[Any]) -> list[Any]:
    """Two records of each kind."""
    kinds: dict[tuple[str, ...], list[Any]] = {}
    for record in records:
        kinds.setdefault((record.get("entry_type"), *record), []).append(record)
    return [record for record in records if any(record in some[:2] for some in kinds.values())]


def _repeated(records: list[Any], times: int, key: str, **of: Any) -> list[Any]:
    """The records, and so many more of the last one that is such a one, told apart by the key."""
    chosen = [record for record in records if of.items() <= record.items()][-1]
    before = records[: records.index(chosen)]
    behind = records[records.index(chosen) :]
    return [*before, *({**chosen, key: f"{n}"} for n in range(times)), *behind]


def _garak(records: list[Any]) -> Contents:
    return {"source.report.jsonl": _lines(records)}


def _samples(records: list[Any]) -> Contents:
    return {"source_samples.jsonl": _lines(records)}


def _results(rows: list[Any], document: Any) -> Contents:
    whole = {**document, "results": {**document["results"], "results": rows}}
    return {"source.json": json.dumps(whole)}


_PROMPTFOO = orjson.loads((RECORDED / "promptfoo_results.json").read_bytes())
_ROWS = _PROMPTFOO["results"]["results"][:2]
_GARAK = _few(_recorded_lines("garak.report.jsonl"))
_SAMPLES = _recorded_lines("0f4ac4a6-8b4e-4c1d-9d3a-0123456789ab_samples.jsonl")
_INSPECT = _few(_recorded_lines("capitals.lines.jsonl"))


def _inspect(records: list[Any]) -> Contents:
    """What the child process that reads Inspect's own format writes."""
    return {"source.eval": _lines(records)}


def _many_inspect(times: int) -> list[Any]:
    *before, last, end = _INSPECT
    sample = last["sample"]
    more = [{**last, "sample": {**sample, "id": f"{n}"}} for n in range(times)]
    return [*before, *more, end]


RECORDED_RUNS: Mapping[str, Mapping[str, Make]] = {
    "garak-report": {
        "as": lambda text: {"source.report.jsonl": text},
        "in": lambda text: _garak(_with(_GARAK, text)),
        "many in": lambda text: _garak(
            _repeated(_GARAK, _many(text), "uuid", entry_type="attempt")
        ),
    },
    "promptfoo-results": {
        "as": lambda text: {"source.json": text},
        "in": lambda text: _results(_with(_ROWS, text), _PROMPTFOO),
        "many in": lambda text: _results(_repeated(_ROWS, _many(text), "id"), _PROMPTFOO),
    },
    "every-eval-ever": {
        "as": lambda text: {"source_samples.jsonl": text},
        "in": lambda text: _samples(_with(_SAMPLES, text)),
        "many in": lambda text: _samples(_repeated(_SAMPLES, _many(text), "sample_id")),
    },
    "inspect-log": {
        "in": lambda text: _inspect(_with(_INSPECT, text)),
        "many in": lambda text: _inspect(_many_inspect(_many(text))),
    },
}
"""The hostile sources of each kind."""


def recorded_runs() -> Iterator[Reader]:
    """Every reader of recorded runs."""
    for kind in READERS:
        for label, make in RECORDED_RUNS.get(kind, {}).items():
            yield Reader(f"{kind} {label} a file", partial(_recorded, kind, make))


def _recorded(kind: str, make: Make, text: str) -> dict[str, Work]:
    path = _written(make(text))
    return {"": lambda: list(_run(kind, path).answers)}


def _run(kind: str, path: Path) -> ForeignRun:
    if kind != "inspect-log":
        return READERS[kind](path)
    lines = (orjson.loads(line) for line in path.read_bytes().splitlines())
    return run_of(path, lines, (source_file(path),))
