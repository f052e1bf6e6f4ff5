"""Imports cases: stages files, records the import, then writes the files to their places.

The event is recorded before the files are written, so every written file is named by an event.
"""

from __future__ import annotations

import hashlib
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

import orjson

from failproof_es.configuration.loading import load_configuration
from failproof_es.core.case import import_id
from failproof_es.engine.identity import code_version
from failproof_es.engine.operations import record_operations
from failproof_es.events import CasesImported
from failproof_es.importers.kept_sections import merge_configuration
from failproof_es.importers.own_suites import SuiteImporter
from failproof_es.importers.protocol import Findings, Importer, Options, Place
from failproof_es.importers.registry import IMPORTERS, importer_named
from failproof_es.importers.run_configuration import configuration_text
from failproof_es.importers.source import DigestedFile, Source
from failproof_es.importers.suites import CASES, CHECKED, DIALECTS, JUDGED, write_suites
from failproof_es.problems import InvalidInput, Problem
from failproof_es.store.store import Store
from failproof_es.support.atomic_file import atomic_write, describe_write_error
from failproof_es.support.plurals import plural
from failproof_es.support.temporary_room import room_said

CONFIGURATIONS: Mapping[str, str] = {
    CASES: "run.yaml",
    CHECKED: "checked.yaml",
    JUDGED: "judged.yaml",
}
_DECIDED: Mapping[str, str] = {
    CASES: "a program decides by the expected answer",
    CHECKED: "a program decides by checks",
    JUDGED: "a judge or a person decides",
}
_PIECE = 1024 * 1024
_NO_MODEL_IS_LEFT = "no model is taken over: the embedded one is asked until you name yours"
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9._-]+")


class NewFile(NamedTuple):
    """A file to write, and its staged copy."""

    path: Path
    staged: Path
    bytes: int
    sha256: str


@dataclass(slots=True)
class PreparedImport:
    """An import that is ready to be recorded: its source was read, its files are staged."""

    importer: Importer
    source: Source
    options: Options
    findings: Findings
    cases: int = 0
    files: list[NewFile] = field(default_factory=list)
    purposes: dict[str, str] = field(default_factory=dict)
    """The content or use of each file that has one of its own, by the file's name."""

    @property
    def import_id(self) -> UUID:
        """The import's id: a digest of kind, options and content, whatever the source's name."""
        document = {
            "kind": self.importer.name,
            "options": self.told_options,
            "sources": sorted((file.sha256, file.bytes) for file in self.source.files),
        }
        serialized = orjson.dumps(document, option=orjson.OPT_SORT_KEYS)
        return import_id(hashlib.sha256(serialized).digest())

    @property
    def told_options(self) -> dict[str, Any]:
        """The options of the import that have a value, by name: `columns`, `match`, `split`."""
        options = {
            "columns": dict(self.options.columns),
            "match": self.options.match,
            "split": self.options.split,
        }
        return {name: value for name, value in options.items() if value}


class CaseImport:
    """One import of cases, from its source to the staged files.

    `record_and_write` completes it. Leaving its context deletes the staged files.
    """

    def __init__(self, kind: str, path: Path, output: Path, name: str | None = None) -> None:
        """`output` is the folder for the files, `name` the name of the suite and the run to
        configure (`None`: the source's own, else its file's or folder's). Raises `InvalidInput` if
        the kind is unknown or the path does not exist."""
        self._importer = importer_named(kind)
        self._source = Source(path)
        self._output = output
        self._has_own_name = name is None
        self._name = name_of(name or self._source_name())
        self._is_forced = False
        self._aside = tempfile.TemporaryDirectory(prefix="failproof-es-import-")
        self._trial = tempfile.TemporaryDirectory(prefix="failproof-es-import-")

    def __enter__(self) -> CaseImport:
        return self

    def __exit__(self, *_: object) -> None:
        self._aside.cleanup()
        self._trial.cleanup()

    def prepare(
        self, options: Options, models: Sequence[dict[str, Any]], *, force: bool
    ) -> PreparedImport:
        """Read the whole source, and stage the suites and their configurations.

        `models` replace the models that the source names. With `force`, existing files will be
        replaced; sections of a configuration that an import does not write are kept. Raises
        `InvalidInput` if an option does not fit the kind, if the source is unreadable, changes or
        holds no case, if a configuration is not valid, or if a file exists already.
        """
        self._require_options(options)
        self._is_forced = force
        prepared = PreparedImport(self._importer, self._source, options, Findings())
        aside = Path(self._aside.name)
        with room_said("the suites", "the source"):
            if isinstance(self._importer, SuiteImporter):
                self._stage_suites(self._importer, prepared, models, aside)
            else:
                self._stage_cases(prepared, models, aside)
        self._source.require_unchanged()
        for staged in sorted(path for path in aside.rglob("*") if path.is_file()):
            at = self._output / staged.relative_to(aside)
            prepared.files.append(NewFile(at, staged, *_digest_file(staged)))
        there = [file.path for file in prepared.files if file.path.exists()]
        if there and not force:
            remedy = "choose another folder, or replace it with --force"
            raise InvalidInput(
                [Problem("file-exists", "is there already", path, remedy=remedy) for path in there]
            )
        return prepared

    def _stage_cases(
        self, prepared: PreparedImport, models: Sequence[dict[str, Any]], aside: Path
    ) -> None:
        cases = self._importer.cases(self._source, prepared.options, prepared.findings)
        first_case = list(islice(cases, 1))
        self._take_name(prepared.findings)
        suites = write_suites(chain(first_case, cases), aside, self._name, prepared.findings)
        prepared.cases = sum(suite.cases for suite in suites)
        if not suites:
            problem = Problem("no-cases", "holds nothing that becomes a case", self._source.path)
            raise InvalidInput([problem, *prepared.findings.not_mapped.problems()])
        asked_models = list(models) or self._usable_models(prepared.findings)
        if not asked_models and prepared.findings.has_left_out_models:
            prepared.findings.remarks.append(_NO_MODEL_IS_LEFT)
        for suite in suites:
            judged = suite.file.name == JUDGED
            is_other = suite.file.name != CASES and len(suites) > 1
            name = f"{self._name}-{suite.file.stem}" if is_other else self._name
            text = configuration_text(
                name,
                [suite.file.name],
                suite.dialect,
                asked_models,
                judged=judged,
                prompts=prepared.findings.prompts,
                judge=prepared.findings.judge,
            )
            configuration = CONFIGURATIONS[suite.file.name]
            self._configure_anew(aside / configuration, text, prepared.findings, asked_models)
            count = plural(suite.cases, "case")
            prepared.purposes[suite.file.name] = f"{count} that {_DECIDED[suite.file.name]}"
            prepared.purposes[configuration] = f"the configuration that asks {suite.file.name}"

    def _stage_suites(
        self,
        importer: SuiteImporter,
        prepared: PreparedImport,
        models: Sequence[dict[str, Any]],
        aside: Path,
    ) -> None:
        findings = prepared.findings
        dialect, files, prepared.cases = importer.files(self._source, findings)
        names = []
        for file in files:
            inside = self._source.path.is_dir()
            at = file.resolve().relative_to(self._source.folder) if inside else Path(file.name)
            names.append(str(at))
            (aside / at).parent.mkdir(parents=True, exist_ok=True)
            (aside / at).write_bytes(file.read_bytes())
        if dialect.name == "benchmark" or CONFIGURATIONS[CASES] in names:
            remark = "no configuration is written: its judge has to be named, or its name is taken"
            findings.remarks.append(remark)
            return
        judged = dialect.name == "redteam"
        skip = bool(findings.not_mapped.count)
        text = configuration_text(self._name, names, dialect.name, models, judged=judged, skip=skip)
        self._configure_anew(aside / CONFIGURATIONS[CASES], text, findings, models)

    def _usable_models(self, findings: Findings) -> list[dict[str, Any]]:
        """The models that the source names and whose settings are valid here.

        The others are noted in `findings`.
        """
        usable = []
        for model in findings.models:
            text = configuration_text(self._name, [CASES], DIALECTS[CASES], [model], judged=False)
            trial = Path(self._trial.name) / CONFIGURATIONS[CASES]
            try:
                self._configure(trial, text)
            except InvalidInput:
                model_key = f"{model['provider']}:{model['model']}"
                place = Place(str(self._source.path), None, model_key)
                reason = "the model's settings are not valid here: it is left out"
                findings.leave_out_model(place, reason)
            else:
                usable.append(model)
        return usable

    def _configure_anew(
        self, path: Path, text: str, findings: Findings, models: Sequence[dict[str, Any]]
    ) -> None:
        """Write a configuration that asks `models`, with the user's sections of the one in place.

        Its models are kept, too, if the source names none. Remarks say what is kept and what is
        replaced.
        """
        place = self._output / path.name
        if not (self._is_forced and place.is_file()):
            self._configure(path, text)
            return
        keep_models = not models and not findings.has_left_out_models
        merged = merge_configuration(text, place, keep_models=keep_models)
        self._configure(path, merged.text)
        if merged.kept:
            remark = f"kept in {place}, without comments: {', '.join(merged.kept)}"
            findings.remarks.append(remark)
        if merged.replaced:
            remark = f"replaced in {place}: {', '.join(merged.replaced)}, which had other values"
            findings.remarks.append(remark)

    def _configure(self, path: Path, text: str) -> None:
        """Write a configuration.

        Raises `InvalidInput` if it is not valid, with its final place as the path.
        """
        path.write_text(text, encoding="utf-8")
        try:
            load_configuration(path, folder=self._output)  # the user's files stand there
        except InvalidInput as error:
            place = self._output / path.name
            raise InvalidInput(
                [
                    replace(problem, path=place) if problem.path in (None, path) else problem
                    for problem in error.problems
                ]
            ) from None

    def _require_options(self, options: Options) -> None:
        option_values = {"columns": options.columns, "match": options.match, "split": options.split}
        wrong = [
            Problem(
                "invalid-option",
                f"--{name.removesuffix('s')}: the kind {self._importer.name!r} takes none",
            )
            for name, value in option_values.items()
            if value and name not in self._importer.takes
        ]
        if wrong:
            raise InvalidInput(wrong)

    def _take_name(self, findings: Findings) -> None:
        """Take the name that the source gives itself, unless `name_of` would lose letters of it."""
        if self._has_own_name and findings.name and findings.name.isascii():
            self._name = name_of(findings.name)

    def _source_name(self) -> str:
        if self._source.path.is_dir() or not self._source.name.startswith("promptfooconfig"):
            return self._source.name
        return self._source.folder.name


def record_and_write(store: Store, prepared: PreparedImport) -> None:
    """Record the import, then put each file in its place.

    Raises `InvalidInput` if a file cannot be written (the import then stays on record), and
    `ReadOnlyLog` if the log cannot be written.
    """
    record_operations(store, prepared.import_id, [(CasesImported, _describe_import(prepared))])
    for file in prepared.files:
        try:
            atomic_write(file.path, _read_pieces(file.staged))
        except OSError as error:
            message = f"cannot be written: {describe_write_error(file.path, error)}"
            remedy = "the import is on record, its files are not all in place: run it again"
            raise InvalidInput(
                [Problem("file-unwritable", message, file.path, remedy=remedy)]
            ) from None


def _describe_import(prepared: PreparedImport) -> dict[str, Any]:
    not_mapped = prepared.findings.not_mapped
    package = IMPORTERS.package_of(prepared.importer.name)
    return {
        "kind": prepared.importer.name,
        "path": str(prepared.source.path),
        "options": prepared.told_options,
        "sources": [_source_fields(file) for file in prepared.source.files],
        "written": [
            {"path": str(file.path), "bytes": file.bytes, "sha256": file.sha256}
            for file in prepared.files
        ],
        "records": prepared.findings.read,
        "cases": prepared.cases,
        "not_mapped": [
            {**unmapped.place._asdict(), "reason": unmapped.reason}
            for unmapped in not_mapped.entries
        ],
        "not_mapped_count": not_mapped.count,
        "more_not_mapped": dict(not_mapped.more),
        "code_version": code_version(),
        "package": None if package is None else " ".join(package),
    }


def _source_fields(file: DigestedFile) -> dict[str, Any]:
    return file._asdict()


def name_of(text: str) -> str:
    """The text made a valid name of a run: other characters become `-`.

    `imported` if nothing is left.
    """
    return _NOT_IN_A_NAME.sub("-", text).strip("-._") or "imported"


def _digest_file(path: Path) -> tuple[int, str]:
    size, digest = 0, hashlib.sha256()
    for piece in _read_pieces(path):
        size += len(piece)
        digest.update(piece)
    return size, digest.hexdigest()


def _read_pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            yield piece
