"""Makes a run's plan: checks its case files, and stores every prompt.

`lifecycle` then records the whole plan in one commit. A run either exists with its complete plan or
not at all. It never reads a file again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

import orjson

from failproof_es.core.case import Case, digest_of, prompt_id
from failproof_es.core.experiment import case_digests
from failproof_es.dialects import refuse_other_dialects
from failproof_es.dialects.protocol import Dialect, LoadsByFile
from failproof_es.engine.planning.asked_cases import PlannedCases
from failproof_es.engine.planning.case_spool import CaseSpool, SpooledCase
from failproof_es.events import Branch, Selection, SuiteSnapshot
from failproof_es.problems import InvalidInput, Problem, Problems, unreadable_problem
from failproof_es.store.mapper import prompt_entry
from failproof_es.store.store import Store
from failproof_es.store.writing.appending import append_first
from failproof_es.support import shipped
from failproof_es.support.plurals import plural
from failproof_es.support.shipped import shorten
from failproof_es.support.temporary_room import room_said

_BATCH_CASES = 2_000
_BATCH_BYTES = 2**22

Take = Callable[[Case], None]
"""Called with each case that is to be asked, in order."""


@dataclass(frozen=True, slots=True)
class SourcePart:
    """One case file or collection that was read: its name, the SHA-256 of its content, its
    cases."""

    path: str
    sha256: str
    cases: int
    """The number of its cases that are asked."""
    held: int
    """The number of cases that it holds."""

    def describe(self) -> str:
        """A phrase with the name of the file and the number of its cases, and of those that are
        asked."""
        name = shipped.describe(Path(self.path)) or shorten(self.path)
        prefix = "" if self.cases == self.held else f"asking {self.cases:,} of "
        return f"cases: {name} ({prefix}{plural(self.held, 'case')})"


@dataclass(frozen=True, slots=True)
class SourceReading:
    """The result of reading a source of cases: its parts, and the findings.

    Each case is valid, or left out with a finding.
    """

    parts: tuple[SourcePart, ...]
    findings: tuple[Problem, ...]
    """Warnings, and as errors the defects of the cases that are left out."""
    selected: Selection | None = None
    """The selected part of the cases, without models; `None` without a selection."""


class CaseSource(Protocol):
    """A source of cases: files, or a collection in the log."""

    @property
    def dialect(self) -> Dialect:
        """The dialect of all the cases."""

    def read(self, take: Take) -> SourceReading:
        """Read and check everything.

        `take` is called with every case that is to be asked, in order. Raises `InvalidInput` with
        every error; the cases passed to `take` until then must be dropped.
        """

    def require_unchanged(self) -> None:
        """Raise `InvalidInput` if a file has changed since before it was read."""


class CollectedCases:
    """The cases of a plan, in order: encoded for storing, and their digests.

    Each case is encoded once, here. Memory does not grow with the cases: they are in temporary
    files.
    """

    def __init__(self) -> None:
        self.planned_cases = PlannedCases()
        self.spool = CaseSpool()

    def add(self, case: Case) -> None:
        """Add the next case.

        Raises `InvalidInput` if the temporary folder is full, or for a subclass of `Case`.
        """
        document = _document(case)
        digest = digest_of(document)
        with room_said("the cases", "the suites"):
            self.spool.add(digest, orjson.dumps(document))
            self.planned_cases.add_digests(digest, *case_digests(document))

    def complete(self) -> None:
        """Write the buffered cases after the last `add`.

        Raises `InvalidInput` if the temporary folder is full.
        """
        with room_said("the cases", "the suites"):
            self.spool.flush()
            self.planned_cases.flush()


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan of a run, not recorded yet: the ordered cases and their files."""

    planned_cases: PlannedCases
    suites: tuple[SuiteSnapshot, ...]
    warnings: tuple[Problem, ...]
    skipped: tuple[Problem, ...] = ()
    """The defects of the cases that are left out."""
    selected: Selection | None = None
    """As in `SourceReading`."""
    reuse: Branch | None = None
    """The run whose recorded answers are reused, and the position up to which."""

    @property
    def cases(self) -> int:
        """The number of planned cases; the same case twice counts twice."""
        return len(self.planned_cases)


def check_files(
    dialect: Dialect,
    files: Sequence[Path],
    take: Callable[[Path, Case], None] = lambda path, case: None,
    *,
    skip_invalid: bool = False,
) -> tuple[Problem, ...]:
    """Read every file whole; return the warnings.

    `take` is called with each valid case and its file. The file is the case's own if `tells_files`;
    else it is the first file. Raises `InvalidInput` with every error. With `skip_invalid` errors of
    cases are returned as well, unless no case is left. A subclass of `Case` is an error at once.
    """
    problems = Problems()
    cases = 0
    of_it = refuse_other_dialects(dialect, files, problems)
    for path, case in _load_with_files(dialect, of_it, problems):
        _require_plain(case, dialect.name)
        take(path, case)
        cases += 1
    if len(of_it) < len(files):  # `skip_invalid` skips cases, never a whole file
        problems.raise_errors()
    if not cases and not problems.errors:
        problems.error("no-cases", "the suites have no cases", remedy="add at least one")
    if cases and skip_invalid:
        return tuple(problems)
    problems.raise_errors()
    return tuple(problems.warnings)


def _require_plain(case: Case, dialect: str) -> None:
    """Raise `InvalidInput` for a subclass of `Case`: the log gives back a plain `Case`."""
    if type(case) is not Case:
        raise InvalidInput.because(
            "plugin-failed",
            f"the dialect {dialect!r} gives a {type(case).__name__}, which the log can't hold",
            remedy="let it give a `failproof_es.core.case.Case` itself, no subclass",
        )


def _document(case: Case) -> dict[str, Any]:
    """The case as JSON values, as it is stored and digested."""
    _require_plain(case, case.dialect)
    return case.model_dump(mode="json")


def tells_files(dialect: Dialect, files: Sequence[Path]) -> bool:
    """Whether `check_files` can pass each case with its own file."""
    return len(files) == 1 or isinstance(dialect, LoadsByFile)


def _load_with_files(
    dialect: Dialect, files: Sequence[Path], problems: Problems
) -> Iterator[tuple[Path, Case]]:
    if isinstance(dialect, LoadsByFile):
        return dialect.load_by_file(files, problems)
    return ((files[0], case) for case in dialect.load(files, problems))


def skipped_lines(defects: Sequence[Problem]) -> Iterator[str]:
    """The lines of the message about skipped cases: how many there are, then each defect.

    Nothing if there are no defects.
    """
    if defects:
        cases = plural(len({defect.case for defect in defects}), "case")
        yield f"skipped: {cases} with {plural(len(defects), 'defect')}"
    for defect in defects:
        yield f"  {defect}"


def store_plan(
    store: Store, source: CaseSource, reading: SourceReading, cases: CollectedCases
) -> Plan:
    """Store every prompt that the log does not hold yet; return the plan.

    The run is not recorded. `reading` is the result of reading `source`, `cases` are the cases that
    it took. Raises `InvalidInput` if a file has changed since it was read, so that no unchecked
    case is stored, and if the temporary folder is full.
    """
    cases.complete()
    source.require_unchanged()
    store_documents(store, cases.spool)
    cases.spool.close()
    source.require_unchanged()
    dialect = source.dialect.name
    return Plan(
        cases.planned_cases,
        tuple(
            SuiteSnapshot(
                path=part.path,
                sha256=part.sha256,
                dialect=dialect,
                cases=part.cases,
                of_cases=part.held,
            )
            for part in reading.parts
        ),
        warnings=tuple(problem for problem in reading.findings if problem.severity != "error"),
        skipped=tuple(problem for problem in reading.findings if problem.severity == "error"),
        selected=reading.selected,
    )


def store_prompts(store: Store, cases: Sequence[Case]) -> list[str]:
    """Store the cases that are new; return the digests of all cases, in order.

    Raises `InvalidInput`, before it stores anything, for a subclass of `Case`.
    """
    documents = [_document(case) for case in cases]
    digests = [digest_of(document) for document in documents]
    encoded = map(orjson.dumps, documents)
    store_documents(store, map(SpooledCase, digests, encoded))
    return digests


def store_documents(store: Store, cases: Iterable[SpooledCase]) -> None:
    """Store the cases that the log does not hold yet, a batch in each commit.

    One batch is encoded while another is stored.
    """
    with ThreadPoolExecutor(1, "prompts") as executor:
        storing: Future[None] | None = None
        for batch in _batches(cases):
            now = datetime.now(UTC)
            entries = {
                (stream := prompt_id(digest)): prompt_entry(stream, digest, document, now)
                for digest, document in batch
            }
            if storing is not None:
                storing.result()
            storing = executor.submit(append_first, store, list(entries.values()))
        if storing is not None:
            storing.result()


def _batches(cases: Iterable[SpooledCase]) -> Iterator[list[SpooledCase]]:
    batch: list[SpooledCase] = []
    length = 0
    for case in cases:
        if batch and (len(batch) >= _BATCH_CASES or length + len(case.document) > _BATCH_BYTES):
            yield batch
            batch, length = [], 0
        batch.append(case)
        length += len(case.document)
    if batch:
        yield batch


def require_unchanged(files: Sequence[Path], before: Sequence[str]) -> None:
    """Raise `InvalidInput` with every file whose SHA-256 has changed.

    `before` has the earlier SHA-256 of each file, in hexadecimal, in the same order.
    """
    changed = [
        Problem(
            "file-changed", "the file changed while it was read", path=file, remedy="start again"
        )
        for file, was, now in zip(files, before, digests_of(files), strict=True)
        if now != was
    ]
    if changed:
        raise InvalidInput(changed)


def digests_of(files: Sequence[Path]) -> list[str]:
    """SHA-256, in hexadecimal, of each file. Raises `InvalidInput` with every unreadable file."""
    digests, problems = [], []
    for file in files:
        try:
            with file.open("rb") as stream:
                digests.append(hashlib.file_digest(stream, "sha256").hexdigest())
        except OSError as error:
            problems.append(unreadable_problem(file, error))
    if problems:
        raise InvalidInput(problems)
    return digests
