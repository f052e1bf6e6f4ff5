"""Datasets of specification 004: files in, cases out, nothing skipped silently."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from failproof_es.core.case import Case
from failproof_es.dialects.kit.schemas import describe_defect, schema_defects
from failproof_es.dialects.kit.unknown_keys import UnknownKeys
from failproof_es.dialects.kit.yaml_documents import Location, dotted
from failproof_es.dialects.shipped.command.dataset.dataset_file import (
    CASES,
    DatasetTree,
    NotStorable,
    read_dataset,
    storable,
)
from failproof_es.dialects.shipped.command.models import TestCase, TestDataset
from failproof_es.dialects.shipped.command.options import CommandOptions
from failproof_es.dialects.shipped.command.prompt_template import filled
from failproof_es.problems import Problems, schema_code, shown_value

NAME = "command"
_WORDS = {"nothing": "nothing", "mapping": "a table"}
_SEMANTIC_VERSION = re.compile(r"\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?")

Place = Callable[[int, Location], dict[str, Any]]
"""Maps a case's index and a location in it to `path`, `line` and `field` of a problem."""
CheckCommands = Callable[
    [Sequence[tuple[int, TestCase]], CommandOptions, Problems, Place], set[int]
]
"""Checks the commands of a file's cases; returns the indices of unusable cases."""


def load(
    files: Sequence[Path], problems: Problems, options: CommandOptions, check: CheckCommands
) -> Iterator[Case]:
    """Yield every valid case in file order; every defect of every file goes to `problems`.

    A file is a suite, named after the file. Ids are unique over all files, because results identify
    a case by its id alone. `check` reports the defects of a file's commands. Holds one file at a
    time.
    """
    claimed: dict[str, tuple[Path, int]] = {}
    for path in files:
        tree = read_dataset(path, problems)
        if tree is not None:
            dataset = _Dataset(path, tree, problems, options, claimed, UnknownKeys(problems))
            yield from dataset.cases(check)


@dataclass(slots=True)
class _Dataset:
    """One dataset file, whose values become cases."""

    path: Path
    tree: DatasetTree
    problems: Problems
    options: CommandOptions
    claimed: dict[str, tuple[Path, int]]
    """The first use of each id in the run: the file, and the case's index in it."""
    unknown_keys: UnknownKeys
    documents: dict[int, dict[str, Any]] = field(default_factory=dict)
    version: str = ""

    def cases(self, check: CheckCommands) -> Iterator[Case]:
        """The file's valid cases; reports its defects, those of the commands through `check`."""
        valid = [
            (index, case)
            for index, value in enumerate(self._test_cases())
            if (case := self._test_case(index, value)) is not None
        ]
        unusable = check(valid, self.options, self.problems, self._place)
        suite_id = self.path.stem
        source = f"{suite_id} {self.version}".strip()
        for index, case in valid:
            if index not in unusable:
                yield as_case(case, self.documents[index], suite_id, source, self.options)

    def _place(self, index: int, location: Location = ()) -> dict[str, Any]:
        return self._place_of((CASES, index, *location))

    def _place_of(self, location: Location) -> dict[str, Any]:
        return {
            "path": self.path,
            "line": self.tree.line_of(location),
            "field": dotted(location) or None,
            "case_line": self.tree.line_of(location[:2]) if location[:1] == (CASES,) else None,
        }

    def _test_cases(self) -> list[Any]:
        """The values of the file's cases, not validated; reports the defects around them.

        Empty if the file holds no list of cases.
        """
        dataset = self.tree.value
        if not isinstance(dataset, dict):
            self.problems.error(
                "wrong-type",
                f"is not a dataset: {_describe_value(dataset)} at the top",
                **self._place_of(()),
                remedy="write a version and test_cases",
            )
            return []
        self._report_unknown_keys((), dataset, TestDataset.model_fields)
        self._take_version(dataset)
        cases = dataset.get(CASES)
        if cases is not None and not isinstance(cases, list):
            self.problems.error(
                "wrong-type",
                f"must be a list of test cases, is {_describe_value(cases)}",
                **self._place_of((CASES,)),
            )
            return []
        if not cases:
            self.problems.error(
                "no-cases",
                "a dataset must hold at least one test case",
                **self._place_of((CASES,)),
                remedy="add one",
            )
        return cases or []

    def _take_version(self, dataset: dict[str, Any]) -> None:
        """Store the file's version in `version`; report a missing or malformed one."""
        version = dataset.get("version")
        if not isinstance(version, str):
            kind = "string_type" if "version" in dataset else "missing"
            message = describe_defect(kind, {"input": version}, **_WORDS)
            remedy, place = 'such as version = "1.0.0"', self._place_of(("version",))
            self.problems.error(schema_code(kind), message, **place, remedy=remedy)
            return
        self.version = version
        if not _SEMANTIC_VERSION.fullmatch(version):
            message = f"{_describe_value(version)} is not a semantic version"
            self.problems.warning("invalid-version", message, **self._place_of(("version",)))

    def _test_case(self, index: int, value: Any) -> TestCase | None:
        """The case that `value` describes, or `None` with the reasons in `problems`.

        `index` is its place in the file's list of cases.
        """
        if not isinstance(value, dict):
            self.problems.error(
                "wrong-type",
                f"must be a test case with keys and values, is {_describe_value(value)}",
                **self._place(index),
            )
            return None
        before = len(self.problems.errors)
        self._report_unknown_keys((CASES, index), value, TestCase.model_fields)
        try:
            self.documents[index] = storable(value)
        except NotStorable as error:
            place = self._place(index, tuple(error.location))
            self.problems.error("not-storable", error.message, **place)
        self._claim(index, value.get("id"))
        case = None
        try:
            case = TestCase.model_validate(value)
        except ValidationError as error:
            for code, location, message in schema_defects(error, **_WORDS):
                self.problems.error(code, message, **self._place(index, location))
        return case if len(self.problems.errors) == before else None

    def _claim(self, index: int, case_id: Any) -> None:
        """Record the first use of the case's id; report an id that is already in use."""
        if not isinstance(case_id, str) or not case_id.strip():
            return
        path, first = self.claimed.setdefault(case_id, (self.path, index))
        if (path, first) == (self.path, index):
            return
        place = f"{path}, test_cases[{first}]"
        if path == self.path:
            place = f"{path}:{self.tree.line_of((CASES, first, 'id'))}"
        self.problems.error(
            "duplicate-id",
            f"duplicate id {_describe_value(case_id)}, first used at {place}",
            **self._place(index, ("id",)),
            remedy="give each test case its own id",
        )

    def _report_unknown_keys(
        self, at: Location, table: dict[str, Any], known_keys: Iterable[str]
    ) -> None:
        """Report the keys of `table` that specification 004 does not have.

        `at` is the location of `table` in the file.
        """
        for key in table:
            if key not in known_keys:
                self.unknown_keys.report(
                    str(key), known_keys, table, **self._place_of((*at, str(key)))
                )


def as_case(
    case: TestCase,
    document: dict[str, Any],
    suite_id: str,
    source: str | None,
    options: CommandOptions,
) -> Case:
    """The case with the request and the grading that these options ask for.

    `document` is the case as JSON, `suite_id` the name of its file without the suffix, `source`
    that name with the dataset's version.
    """
    return Case(
        dialect=NAME,
        case_id=case.id,
        suite_id=suite_id,
        turns=filled(options.template, case.prompt),
        expectation={
            "expected_commands": case.expected_commands,
            "safe": case.safe,
            "posix_compliant": case.posix_compliant,
            "extraction": options.extraction,
            "posix_edition": options.posix_edition,
        },
        category=str(case.category),
        label="safe" if case.safe else "unsafe",
        source=source,
        document=document,
    )


def _describe_value(value: Any) -> str:
    return shown_value(value, **_WORDS)  # type: ignore[arg-type]  # no number is among them
