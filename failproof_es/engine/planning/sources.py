"""The sources of a run's cases (files, or a collection in the log), and their selection."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from failproof_es.configuration.choices import SelectionSection
from failproof_es.configuration.loading import LoadedConfiguration
from failproof_es.configuration.schema import Filters
from failproof_es.core.case import Case
from failproof_es.dialects import all_suffixes, case_files, configured, dialect_named, recognise
from failproof_es.dialects.protocol import Dialect, RebuildsCases
from failproof_es.engine.planning.case_warnings import CaseWarnings
from failproof_es.engine.planning.planner import (
    CaseSource,
    SourcePart,
    SourceReading,
    Take,
    check_files,
    digests_of,
    require_unchanged,
    tells_files,
)
from failproof_es.engine.planning.prompt_collections import (
    collected_digests,
    collection_dialect,
    read_cases,
)
from failproof_es.engine.planning.selection import CasesByResult, Selector
from failproof_es.events import Selection as Selected
from failproof_es.problems import InvalidInput, Problem, Problems
from failproof_es.store.store import LendsConnections
from failproof_es.support.plurals import plural


def source_of(loaded: LoadedConfiguration, store: LendsConnections) -> CaseSource:
    """The source of cases that a configuration names: files, or a collection in the log.

    The files' digests are taken now; their cases are not read yet. Raises `InvalidInput` if a file,
    the collection or the dialect does not exist, or if they do not fit.
    """
    prompts = loaded.configuration.prompts
    choice = CaseChoice(prompts.filters, loaded.configuration.selection, loaded.cases_by_result)
    try:
        if prompts.collection is not None:
            with store.lend() as connection:
                name = collection_dialect(connection, prompts.collection)
                digests = collected_digests(connection, prompts.collection)
            if prompts.dialect not in (None, name):
                reason = f"collection {prompts.collection!r} is of the dialect {name!r}"
                problem = Problem(
                    "wrong-dialect", reason, field="prompts.dialect", remedy="leave it out"
                )
                raise InvalidInput([problem])
            dialect = configured(dialect_named(name), prompts.options)
            return _Collection(dialect, choice, store, prompts.collection, digests)
        paths = prompts.path or []
        skipped = Problems()
        if prompts.dialect is not None:
            dialect, files = _named_dialect(prompts.dialect, prompts.options, paths, loaded.folder)
        else:
            dialect, files = recognise(paths, loaded.folder, skipped)
            dialect = configured(dialect, prompts.options)
        before = digests_of(files)
        skip = prompts.on_invalid == "skip"
        return _Files(dialect, choice, files, before, skip, tuple(skipped))
    except InvalidInput as error:
        raise InvalidInput([loaded.placed(problem) for problem in error.problems]) from None


def _named_dialect(
    name: str, options: Mapping[str, Any], paths: str | list[str], folder: Path
) -> tuple[Dialect, Sequence[Path]]:
    """The dialect of that name with its options, and its files. Raises `InvalidInput` with the
    errors of all."""
    problems: list[Problem] = []
    dialect = None
    try:
        dialect = dialect_named(name)
        dialect = configured(dialect, options)
    except InvalidInput as error:
        at = "prompts.dialect"
        problems += [replace(problem, field=problem.field or at) for problem in error.problems]
    try:
        suffixes = all_suffixes() if dialect is None else dialect.suffixes
        files = case_files(paths, suffixes, folder)
    except InvalidInput as error:
        problems += error.problems
    if dialect is None or problems:
        raise InvalidInput(problems)
    return dialect, files


@dataclass(frozen=True, slots=True)
class CaseChoice:
    """The filters and the selection that choose which cases of a source are asked."""

    filters: Filters
    selection: SelectionSection
    cases_by_result: CasesByResult


@dataclass(frozen=True, slots=True)
class _Files:
    dialect: Dialect
    choice: CaseChoice
    files: Sequence[Path]
    before: Sequence[str]
    """The SHA-256 of every file before its cases were read."""
    skip_invalid: bool = False
    skipped: Sequence[Problem] = ()
    """Warnings of files that look like no cases."""

    def read(self, take: Take) -> SourceReading:
        """Read and check every file, as `CaseSource.read` says.

        A sample, or a dialect that does not tell a case's file, needs a second reading.
        """
        chooser, keys = _CaseChooser(self.choice), CaseWarnings()
        asked_counts, held = dict.fromkeys(self.files, 0), dict.fromkeys(self.files, 0)
        if chooser.draws:

            def rank(_: Path, case: Case) -> None:
                chooser.rank(case)

            check_files(self.dialect, self.files, rank, skip_invalid=self.skip_invalid)

        def choose(path: Path, case: Case) -> None:
            held[path] += 1
            if chooser.add(case):
                asked_counts[path] += 1
                keys.add([path], case)
                take(case)

        if tells_files(self.dialect, self.files):
            problems = check_files(self.dialect, self.files, choose, skip_invalid=self.skip_invalid)
        else:
            problems = check_files(self.dialect, self.files, skip_invalid=self.skip_invalid)
            for path, case in self._file_by_file():
                choose(path, case)
        parts = [
            SourcePart(str(file), sha256, asked_counts[file], held[file])
            for file, sha256 in zip(self.files, self.before, strict=True)
        ]
        findings = (*self.skipped, *problems, *keys.warnings(), *chooser.remarks())
        return SourceReading(tuple(parts), findings, chooser.selected)

    def _file_by_file(self) -> Iterator[tuple[Path, Case]]:
        """Each valid case with its file, from a second reading of each file alone, for dialects
        that do not tell a case's file."""
        valid = (
            _ValidCases(self.dialect.load(self.files, Problems())) if self.skip_invalid else None
        )
        for file in self.files:
            cases = self.dialect.load([file], Problems())
            for case in cases if valid is None else valid.among(cases):
                yield file, case

    def require_unchanged(self) -> None:
        """Raise `InvalidInput` with every file that has changed since `source_of`."""
        require_unchanged(self.files, self.before)


class _ValidCases:
    """Decides, file after file, which cases are valid together with earlier ones.

    `cases` are the valid cases of all files, in order. A single file does not show that an earlier
    file has a case with the same id.
    """

    def __init__(self, cases: Iterator[Case]) -> None:
        self._cases = cases
        self._next = next(cases, None)

    def among(self, cases: Iterator[Case]) -> Iterator[Case]:
        """The valid ones among `cases`, the cases of the next file.

        Call it for each file in order.
        """
        for case in cases:
            if case == self._next:
                yield case
                self._next = next(self._cases, None)


@dataclass(frozen=True, slots=True)
class _Collection:
    dialect: Dialect
    choice: CaseChoice
    store: LendsConnections
    name: str
    digests: Sequence[str]

    def read(self, take: Take) -> SourceReading:
        """Read the collection's cases from the log, as `CaseSource.read` says.

        A sample needs a second reading.
        """
        chooser = _CaseChooser(self.choice)
        asked_count = held = 0
        if chooser.draws:
            for case in self._cases():
                chooser.rank(case)
        for case in self._cases():
            held += 1
            if chooser.add(case):
                asked_count += 1
                take(case)
        sha256 = hashlib.sha256("\n".join(self.digests).encode()).hexdigest()
        part = SourcePart(f"collection {self.name}", sha256, asked_count, held)
        return SourceReading((part,), chooser.remarks(), chooser.selected)

    def require_unchanged(self) -> None:
        """Do nothing: stored cases do not change, unlike files."""

    def _cases(self) -> Iterator[Case]:
        with self.store.lend() as connection:
            for case in read_cases(connection, self.digests):
                dialect = self.dialect
                yield dialect.rebuild_case(case) if isinstance(dialect, RebuildsCases) else case


# -- filters -------------------------------------------------------------------------------


class _CaseChooser:
    """Chooses the cases that match every filter, and among them the selected ones."""

    def __init__(self, choice: CaseChoice) -> None:
        self._filters = _dump_filters(choice.filters)
        self._seen: dict[str, set[str]] = {name: set() for name in self._filters}
        self._kept = self._total = 0
        self._selector = Selector(choice.selection, choice.cases_by_result)

    @property
    def draws(self) -> bool:
        """Whether a sample is drawn: then all cases must be passed to `rank` before the first
        `add`."""
        return self._selector.draws

    def rank(self, case: Case) -> None:
        """Take a case into the draw of the sample, if it matches the filters."""
        if not self._filters or _matches(case, self._filters):
            self._selector.rank(case)

    def add(self, case: Case) -> bool:
        """Decide whether the next case is chosen. Each case is passed once, in order."""
        if not self._filters:
            return self._selector.add(case)
        matches_filters = _matches(case, self._filters)
        self._total += 1
        self._kept += matches_filters
        for name, seen in self._seen.items():
            seen.update(_values(case, name))
        return matches_filters and self._selector.add(case)

    @property
    def selected(self) -> Selected:
        """The record of the selection among the cases that match the filters."""
        return self._selector.selected(0)

    def remarks(self) -> tuple[Problem, ...]:
        """Remarks on omitted cases; call it after the last `add`.

        Raises `InvalidInput` if a filter's value or a pattern fits no case, or if no case is left.
        """
        problems = Problems()
        if self._filters:
            self._add_filter_remarks(problems)
        problems.raise_errors()
        self._selector.remarks(problems)
        problems.raise_errors()
        return tuple(problems.warnings)

    def _add_filter_remarks(self, problems: Problems) -> None:
        for name, values in self._filters.items():
            for value in values:
                if value not in self._seen[name]:
                    there = ", ".join(sorted(self._seen[name])[:20])
                    message = f"no case has {name} {value!r}"
                    field = f"prompts.filters.{name}"
                    remedy = f"there are: {there}" if there else f"none of the cases has a {name}"
                    problems.error("no-match", message, field=field, remedy=remedy)
        if not self._kept and not problems.errors:
            problems.error(
                "no-cases",
                f"none of {plural(self._total, 'case')} matches all filters",
                field="prompts.filters",
            )
        if not problems.errors:
            summary = f"{self._kept} of {plural(self._total, 'case')} are asked"
            problems.remark(f"prompts.filters: {summary}")


def _dump_filters(filters: Filters) -> dict[str, list[str]]:
    return {name: values for name, values in filters.model_dump().items() if values is not None}


def _matches(case: Case, filters: Mapping[str, list[str]]) -> bool:
    """Whether the case has, for every filter, one of the filter's values."""
    return all(not set(filters[name]).isdisjoint(_values(case, name)) for name in filters)


def _values(case: Case, name: str) -> tuple[str, ...]:
    """The case's values for the filter `name`: several tags, at most one value of any other
    kind."""
    if name == "tags":
        return case.tags
    values = {"category": case.category, "expected_label": case.label, "source": case.source}
    value = values[name]
    return () if value is None else (value,)
