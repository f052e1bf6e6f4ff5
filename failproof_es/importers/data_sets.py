"""Importers of records: CSV, Parquet, Hugging Face data sets, Inspect's and OpenAI's samples."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from failproof_es.dialects.kit.json_lines import Defect, parse_object
from failproof_es.importers.arrow_rows import read_arrow, read_parquet
from failproof_es.importers.protocol import Findings, ImportedCase, Options, Place
from failproof_es.importers.record_values import UnusableRecord
from failproof_es.importers.records import ColumnMap, case_of, mapping_of, option_for
from failproof_es.importers.rows import SourceRows, read_csv, read_json, read_json_lines
from failproof_es.importers.source import MAX_FILES, OutsideSource, Source
from failproof_es.importers.tests_alone import tests_alone
from failproof_es.problems import InvalidInput, Problem

Reader = Callable[[Source, Path], SourceRows]
READERS: Mapping[str, Reader] = {
    ".csv": read_csv,
    ".tsv": read_csv,
    ".jsonl": read_json_lines,
    ".ndjson": read_json_lines,
    ".json": read_json,
    ".parquet": read_parquet,
    ".arrow": read_arrow,
}
_SHARD = re.compile(r"^(?P<split>.+?)-\d{5}-of-(?P<of>\d{5})$")
_MOST_MISSING = 100
_NOT_MAPPED = "the column is not mapped"
_ASSERTIONS = re.compile(r"__expected\d*", re.ASCII)
"""Columns of promptfoo's tables: an assertion each, such as `contains:Paris`."""
_PROGRAMS = (".py", ".ipynb", ".js", ".ts")


@dataclass(frozen=True, slots=True)
class RecordImporter:
    """An importer of files of records, such as rows of a table.

    `defaults` is the field for each role of a case (`prompt`, `expected`, ...) in this kind of
    file, `match` the default comparison of answers, and `blocking` the fields with which a record
    cannot become a case.
    """

    name: str
    says: str
    suffixes: tuple[str, ...]
    defaults: Mapping[str, str]
    match: str
    blocking: frozenset[str] = frozenset()
    takes: frozenset[str] = frozenset({"columns", "match"})

    def cases(self, source: Source, options: Options, findings: Findings) -> Iterator[ImportedCase]:
        """Yield the cases in the order of the source; note unmapped parts in `findings`.

        Raises `InvalidInput` if the source cannot be read or the options do not fit it.
        """
        return self._cases(source, _record_files(source, self.suffixes), options, findings)

    def _cases(
        self, source: Source, files: Sequence[Path], options: Options, findings: Findings
    ) -> Iterator[ImportedCase]:
        reported: set[str] = set()
        number = 0
        for path in files:
            rows = READERS[path.suffix.lower()](source, path)
            if not rows.names:
                raise InvalidInput([Problem("no-cases", "is empty: it holds no record", path)])
            _refuse_tests_of_promptfoo(path, rows.names)
            mapping = mapping_of(rows.names, options, self.defaults, self.match, self.blocking)
            for name in mapping.unmapped(rows.names):
                if name not in reported:
                    reported.add(name)
                    findings.note(Place(source.display_path(path), None, name), _NOT_MAPPED)
            _add_remark(mapping, rows.names, findings)
            for place, record in rows.read(mapping.used(rows.names)):
                number += 1
                findings.read += 1
                try:
                    yield case_of(record, mapping, place, number, findings)
                except UnusableRecord as error:
                    field = error.field or mapping.columns.get(error.role or "")
                    at = place if field is None else place._replace(field=field)
                    findings.note(at, f"the case is not written: {error}")
            findings.remarks += rows.remarks


@dataclass(frozen=True, slots=True)
class HuggingFaceImporter(RecordImporter):
    """An importer of a data set on disk: a folder of `save_to_disk`, or of Parquet files."""

    takes: frozenset[str] = frozenset({"columns", "match", "split"})

    def cases(self, source: Source, options: Options, findings: Findings) -> Iterator[ImportedCase]:
        """Yield the cases of the split in `options`; note unmapped parts in `findings`.

        Raises `InvalidInput` if the source cannot be read, there are several splits and none is
        named, or the options do not fit.
        """
        files = _split_files(source, options.split, findings)
        return self._cases(source, files, options, findings)


def _record_files(source: Source, suffixes: Sequence[str]) -> list[Path]:
    files = source.all_files(*suffixes)
    if not files:
        message = f"holds no file that ends in {', '.join(suffixes)}"
        raise InvalidInput([Problem("no-cases", message, source.path)])
    if not source.path.is_dir() and source.path.suffix.lower() not in suffixes:
        message = f"does not end in {' or '.join(suffixes)}"
        program = source.path.suffix.lower() in _PROGRAMS
        remedy = (
            "a program is not run: name the file of the data that it reads"
            if program
            else "name it so, or choose another kind"
        )
        raise InvalidInput([Problem("wrong-file-kind", message, source.path, remedy=remedy)])
    return files


def _split_files(source: Source, split: str | None, findings: Findings) -> list[Path]:
    """The files of the split.

    Raises `InvalidInput` if there are several splits and none is named, if there is no such split,
    or if one of its files is missing.
    """
    if not source.path.is_dir():
        raise InvalidInput(
            [Problem("not-a-folder", "is no folder", source.path, remedy="name the data set's")]
        )
    splits: dict[str, list[Path]] = {}
    for path in _data_set_files(source, findings):
        splits.setdefault(_split_of(source, path), []).append(path)
    if not splits:
        message = "holds neither Arrow nor Parquet files"
        raise InvalidInput(
            [Problem("no-cases", message, source.path, remedy="name a folder of `save_to_disk`")]
        )
    if split is None and len(splits) == 1:
        [split] = splits
    if split in splits:
        _require_every_shard(splits[split])
        return splits[split]
    message = "has several splits" if split is None else f"has no split {split!r}"
    names = ", ".join(splits)
    raise InvalidInput(
        [
            Problem(
                "missing-option" if split is None else "invalid-option",
                message,
                source.path,
                remedy=f"--split NAME; there are: {names}",
            )
        ]
    )


def _data_set_files(source: Source, findings: Findings) -> Iterator[Path]:
    """Yield the data set's files; in a folder of `save_to_disk`, those that `state.json` names.

    Others in such a folder are noted in `findings`.
    """
    files_by_folder: dict[Path, frozenset[Path] | None] = {}
    for path in source.all_files(".parquet", ".arrow"):
        if path.parent not in files_by_folder:
            files_by_folder[path.parent] = _named_files(source, path.parent)
        files = files_by_folder[path.parent]
        if files is None or path.resolve() in files:
            yield path
        else:
            note = "is none of the files that `state.json` names: it is not read"
            findings.note(Place(source.display_path(path)), note)


def _split_of(source: Source, path: Path) -> str:
    """The name of a file's split: its folder and the common name of its numbered parts."""
    folders = list(path.parent.resolve().relative_to(source.folder).parts)
    shard = _SHARD.match(path.stem)
    split = shard["split"] if shard else path.stem
    parts = [folder for folder in folders if folder != "data"]
    return "/".join([*parts, *([] if split == "data" else [split])]) or source.name


def _require_every_shard(files: Sequence[Path]) -> None:
    """Raises `InvalidInput` if shards (numbered parts of a split) are missing.

    The names of the others say how many there are.
    """
    there = set(files)
    expected = {
        path.with_name(f"{shard['split']}-{n:05}-of-{shard['of']}{path.suffix}")
        for path in files
        if (shard := _SHARD.match(path.stem))
        for n in range(min(int(shard["of"]), MAX_FILES))
    }
    if missing := sorted(expected - there):
        message = "is missing: the names of the others say that it belongs to them"
        raise InvalidInput(
            [Problem("file-not-found", message, path) for path in missing[:_MOST_MISSING]]
        )


def _named_files(source: Source, folder: Path) -> frozenset[Path] | None:
    """The files that `state.json` of `save_to_disk` names; `None` without a `state.json`.

    Raises `InvalidInput` if it is malformed, or if one of the files is missing.
    """
    state = folder / "state.json"
    if not state.is_file():
        return None
    try:
        document = parse_object(source.text(state).encode(), "file")
    except Defect as defect:
        raise InvalidInput([Problem(defect.code, defect.message, state, defect.line)]) from None
    data_files = document.get("_data_files")
    files = set()
    for data_file in data_files if isinstance(data_files, list) else []:
        filename = data_file.get("filename") if isinstance(data_file, dict) else None
        if not isinstance(filename, str):
            raise InvalidInput([Problem("wrong-type", "names no file", state, field="_data_files")])
        try:
            files.add(source.within(filename, folder))
        except OutsideSource as error:
            raise InvalidInput(
                [Problem("file-not-found", f"{filename[:100]}: {error}", state)]
            ) from None
    return frozenset(files)


def _refuse_tests_of_promptfoo(path: Path, names: Sequence[str]) -> None:
    """Raises `InvalidInput` if a column holds promptfoo's assertions.

    Read as expected answers, `contains:Paris` and `is-refusal` would fail every answer.
    """
    for name in names:
        if _ASSERTIONS.fullmatch(name.strip()):
            raise tests_alone(path, f": the column {name.strip()} has assertions")


def _add_remark(mapping: ColumnMap, names: Sequence[str], findings: Findings) -> None:
    match_column = mapping.columns.get("match")
    if "choices" in mapping.columns and "expected" in mapping.columns:
        remark = "choices are listed with letters, and the answer has to name one of them"
    elif match_column is not None:
        remark = f"an answer passes as the column {match_column} says, else by {mapping.match}"
    elif "expected" in mapping.columns:
        remark = f"answers are compared with --match {mapping.match}"
    else:
        option = option_for("expected", mapping.unmapped(names))
        remark = f"no column holds the expected answer: any answer passes ({option})"
    if remark not in findings.remarks:
        findings.remarks.append(remark)


_PLAIN = {
    "prompt": "prompt",
    "expected": "expected",
    "id": "id",
    "system": "system",
    "choices": "choices",
    "tags": "tags",
    "suite": "suite",
    "severity": "severity",
}
CSV = RecordImporter(
    "csv",
    "A table with a heading, as CSV or TSV, with a column map.",
    (".csv", ".tsv"),
    _PLAIN,
    "contains",
)
PARQUET = RecordImporter(
    "parquet",
    "A table as Parquet, with a column map.",
    (".parquet",),
    _PLAIN,
    "contains",
)
HUGGING_FACE = HuggingFaceImporter(
    "hf",
    "A Hugging Face data set on disk: a folder of `save_to_disk`, or of Parquet files.",
    (),
    _PLAIN,
    "contains",
)
INSPECT = RecordImporter(
    "inspect",
    "The data set of an Inspect task: its samples as JSON, JSON Lines or CSV.",
    (".json", ".jsonl", ".csv"),
    {
        "prompt": "input",
        "expected": "target",
        "id": "id",
        "choices": "choices",
        "metadata": "metadata",
    },
    "icontains",
    frozenset({"files", "sandbox", "setup"}),
)
OPENAI_EVALS = RecordImporter(
    "openai-evals",
    "Samples of OpenAI's evals, as JSON Lines: messages and the ideal answer.",
    (".jsonl",),
    {"prompt": "input", "expected": "ideal", "id": "id"},
    "begins",
)
