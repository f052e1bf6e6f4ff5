"""Records a planned run: stores every prompt, and the whole plan in one commit.

A run either exists with its complete plan or not at all. It never reads a file again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Protocol

from failproof_es.core.case import Case, prompt_id
from failproof_es.dialects import refuse_other_dialects
from failproof_es.dialects.protocol import Dialect
from failproof_es.engine.planning.asked_cases import PlannedCases
from failproof_es.events import PromptStored, SuiteSnapshot
from failproof_es.problems import InvalidInput, Problem, Problems
from failproof_es.store.reading.reader import Connection, existing_streams
from failproof_es.store.store import Store
from failproof_es.store.writing.appending import append
from failproof_es.store.writing.event_header import Draft, EventHeader
from failproof_es.support.plurals import plural

_BATCH = 500


@dataclass(frozen=True, slots=True)
class Part:
    """One file or collection: its name, the SHA-256 of its content, its cases."""

    path: str
    sha256: str
    cases: Iterator[Case]


class Source(Protocol):
    """A source of cases. If its content changes between two reads, that is an error."""

    @property
    def dialect(self) -> Dialect:
        """The dialect of all the cases."""

    def check(self) -> tuple[Problem, ...]:
        """Read everything; return the warnings, and the defects that are skipped, as errors.

        Raises `InvalidInput` with every other error.
        """

    def parts(self) -> Iterator[Part]:
        """All parts in order. Raises `InvalidInput` when a file has changed."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan of a run: the ordered cases and their files."""

    asked: PlannedCases
    suites: tuple[SuiteSnapshot, ...]
    warnings: tuple[Problem, ...]
    skipped: tuple[Problem, ...] = ()
    """The defects that kept a case out of it."""

    @property
    def cases(self) -> int:
        """How many cases are planned; the same case twice counts twice."""
        return len(self.asked)


def check_files(
    dialect: Dialect, files: Sequence[Path], *, skip_invalid: bool = False
) -> tuple[Problem, ...]:
    """Read every file whole; return the warnings.

    Raises `InvalidInput` with every error. With `skip_invalid` they are returned as well,
    unless nothing is left to be run.
    """
    problems = Problems()
    cases = 0
    for _ in dialect.load(of_it := refuse_other_dialects(dialect, files, problems), problems):
        cases += 1
    if len(of_it) < len(files):  # nobody means to leave out a whole file
        problems.raise_errors()
    if not cases and not problems.errors:
        problems.error("the suites have no cases", remedy="add at least one")
    if cases and skip_invalid:
        return tuple(problems)
    problems.raise_errors()
    return tuple(problems.warnings)


def skipped_lines(defects: Sequence[Problem]) -> Iterator[str]:
    """The message about skipped cases: how many there are, then each defect."""
    if defects:
        cases = plural(len({defect.case for defect in defects}), "case")
        yield f"skipped: {cases} with {plural(len(defects), 'defect')}"
    for defect in defects:
        yield f"  {defect}"


def store_plan(
    store: Store, source: Source, found: Sequence[Problem], look: Callable[[Case], None]
) -> Plan:
    """Store every prompt that the log does not hold yet. `found` is what `check` returned.

    `look` is called with every case.
    """
    asked = PlannedCases()
    suites = []
    for part in source.parts():
        cases = 0
        for batch in _batches(part.cases):
            cases += len(batch)
            for case in batch:
                look(case)
            for digest, case in zip(store_prompts(store, batch), batch, strict=True):
                asked.add(digest, case)
        dialect = source.dialect.name
        suites.append(
            SuiteSnapshot(path=part.path, sha256=part.sha256, dialect=dialect, cases=cases)
        )
    return Plan(
        asked,
        tuple(suites),
        warnings=tuple(each for each in found if each.severity != "error"),
        skipped=tuple(each for each in found if each.severity == "error"),
    )


def _batches(cases: Iterator[Case]) -> Iterator[Sequence[Case]]:
    while batch := list(islice(cases, _BATCH)):
        yield batch


def store_prompts(store: Store, cases: Sequence[Case]) -> list[str]:
    """Store the new ones of `cases`; return all digests, in order."""
    by_stream = {}
    digests = []
    for case in cases:
        digest = case.digest()
        digests.append(digest)
        by_stream[prompt_id(digest)] = (digest, case)

    def missing(connection: Connection) -> list[Draft]:
        existing = existing_streams(connection, list(by_stream))
        return [
            Draft(PromptStored, EventHeader(stream, None), digest=digest, case=case)
            for stream, (digest, case) in by_stream.items()
            if stream not in existing
        ]

    append(store, missing)
    return digests


def require_unchanged(files: Sequence[Path], before: Sequence[str]) -> None:
    """Raise `InvalidInput` with every file whose SHA-256 has changed."""
    changed = [
        Problem("the file changed while it was read", path=file, remedy="start again")
        for file, sha256 in zip(files, before, strict=True)
        if sha256_of(file) != sha256
    ]
    if changed:
        raise InvalidInput(changed)


def sha256_of(file: Path) -> str:
    """SHA-256, in hexadecimal, of a file's bytes."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
