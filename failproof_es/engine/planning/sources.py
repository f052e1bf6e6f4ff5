"""The sources of a run's cases (files, or a collection in the log), and their selection."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from failproof_es.configuration.loading import LoadedConfiguration
from failproof_es.configuration.schema import Filters
from failproof_es.core.case import Case
from failproof_es.dialects import case_files, configured, dialect_named, recognise
from failproof_es.dialects.protocol import Dialect, RebuildsCases
from failproof_es.engine.planning.planner import (
    Part,
    Source,
    check_files,
    require_unchanged,
    sha256_of,
)
from failproof_es.engine.planning.prompt_collections import (
    collected_digests,
    collection_dialect,
    read_cases,
)
from failproof_es.problems import InvalidInput, Problem, Problems
from failproof_es.store.store import Store
from failproof_es.support.plurals import plural


def source_of(loaded: LoadedConfiguration, store: Store) -> Source:
    """The source that a configuration names. Raises `InvalidInput`."""
    prompts = loaded.configuration.prompts
    try:
        if prompts.collection is not None:
            with store.connect() as connection:
                name = collection_dialect(connection, prompts.collection)
                digests = collected_digests(connection, prompts.collection)
            if prompts.dialect not in (None, name):
                reason = f"collection {prompts.collection!r} is of the dialect {name!r}"
                problem = Problem(reason, field="prompts.dialect", remedy="leave it out")
                raise InvalidInput([problem])
            dialect = configured(dialect_named(name), prompts.options)
            return _Collection(dialect, prompts.filters, store, prompts.collection, digests)
        paths = prompts.path or []
        if prompts.dialect is not None:
            dialect = dialect_named(prompts.dialect)
            files: Sequence[Path] = case_files(paths, dialect.suffixes, loaded.folders)
        else:
            dialect, files = recognise(paths, loaded.folders)
        before = [sha256_of(file) for file in files]
        skip = prompts.on_invalid == "skip"
        return _Files(configured(dialect, prompts.options), prompts.filters, files, before, skip)
    except InvalidInput as error:
        raise InvalidInput([loaded.placed(problem) for problem in error.problems]) from None


@dataclass(frozen=True, slots=True)
class _Files:
    dialect: Dialect
    filters: Filters
    files: Sequence[Path]
    before: Sequence[str]
    """The SHA-256 of every file when it was first opened."""
    skip_invalid: bool = False

    def check(self) -> tuple[Problem, ...]:
        """See `Source.check`."""
        found = check_files(self.dialect, self.files, skip_invalid=self.skip_invalid)
        return (*found, *_filtered(self.filters, self.dialect.load(self.files, Problems())))

    def parts(self) -> Iterator[Part]:
        """See `Source.parts`."""
        valid = _Valid(self.dialect.load(self.files, Problems())) if self.skip_invalid else None
        for file, sha256 in zip(self.files, self.before, strict=True):
            cases = self.dialect.load([file], Problems())
            if valid is not None:
                cases = valid.among(cases)
            yield Part(str(file), sha256, matching_cases(self.filters, cases))
        require_unchanged(self.files, self.before)


class _Valid:
    """Decides, file after file, which cases are valid together with earlier ones.

    A single file does not show that an earlier file has a case with the same id.
    """

    def __init__(self, cases: Iterator[Case]) -> None:
        self._cases = cases
        self._next = next(cases, None)

    def among(self, cases: Iterator[Case]) -> Iterator[Case]:
        """The cases of a file that are valid together with the earlier files."""
        for case in cases:
            if case == self._next:
                yield case
                self._next = next(self._cases, None)


@dataclass(frozen=True, slots=True)
class _Collection:
    dialect: Dialect
    filters: Filters
    store: Store
    name: str
    digests: Sequence[str]

    def check(self) -> tuple[Problem, ...]:
        """See `Source.check`."""
        return _filtered(self.filters, self._cases())

    def parts(self) -> Iterator[Part]:
        """See `Source.parts`."""
        sha256 = hashlib.sha256("\n".join(self.digests).encode()).hexdigest()
        yield Part(f"collection {self.name}", sha256, matching_cases(self.filters, self._cases()))

    def _cases(self) -> Iterator[Case]:
        with self.store.connect() as connection:
            for case in read_cases(connection, self.digests):
                dialect = self.dialect
                yield dialect.rebuild_case(case) if isinstance(dialect, RebuildsCases) else case


# -- filters -------------------------------------------------------------------------------


def matching_cases(filters: Filters, cases: Iterator[Case]) -> Iterator[Case]:
    """The cases that have one of the values of every filter given."""
    given = _given(filters)
    return (case for case in cases if _matches(case, given))


def _filtered(filters: Filters, cases: Iterator[Case]) -> tuple[Problem, ...]:
    """A message about what the filters leave out. Raises `InvalidInput` if that is everything."""
    given = _given(filters)
    if not given:
        return ()
    seen: dict[str, set[str]] = {name: set() for name in given}
    kept = total = 0
    for case in cases:
        total += 1
        kept += _matches(case, given)
        for name in given:
            seen[name].update(_values(case, name))
    problems = Problems()
    for name, values in given.items():
        for value in values:
            if value not in seen[name]:
                there = ", ".join(sorted(seen[name])[:20])
                said = f"no case has {name} {value!r}"
                field = f"prompts.filters.{name}"
                remedy = f"there are: {there}" if there else f"none of the cases has a {name}"
                problems.error(said, field=field, remedy=remedy)
    if not kept and not problems.errors:
        problems.error(
            f"none of {plural(total, 'case')} matches all filters", field="prompts.filters"
        )
    problems.raise_errors()
    problems.remark(f"prompts.filters: {kept} of {plural(total, 'case')} are asked")
    return tuple(problems.warnings)


def _given(filters: Filters) -> dict[str, list[str]]:
    return {name: values for name, values in filters.model_dump().items() if values is not None}


def _matches(case: Case, given: Mapping[str, list[str]]) -> bool:
    """Whether the case has one of the values of every filter."""
    return all(not set(given[name]).isdisjoint(_values(case, name)) for name in given)


def _values(case: Case, name: str) -> tuple[str, ...]:
    """The case's values for this filter: several tags, one of any other, or none."""
    if name == "tags":
        return case.tags
    values = {"category": case.category, "expected_label": case.label, "source": case.source}
    value = values[name]
    return () if value is None else (value,)
