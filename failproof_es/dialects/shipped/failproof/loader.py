"""Suites of specification 000 § 1: JSON lines in, cases out, nothing skipped silently."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from failproof_es.core.case import Case, Turn
from failproof_es.dialects.kit.json_lines import read_objects
from failproof_es.dialects.kit.taken_ids import SeenIds
from failproof_es.dialects.kit.unknown_keys import UnknownKeys
from failproof_es.dialects.shipped.failproof import expectation
from failproof_es.dialects.shipped.failproof.description import is_description
from failproof_es.dialects.shipped.failproof.prompt_variables import fill
from failproof_es.dialects.shipped.failproof.test_case import FIELDS, FailproofCase, defects
from failproof_es.problems import Problems


def load(files: Sequence[Path], problems: Problems) -> Iterator[tuple[Path, Case]]:
    """Yield every valid case with its file, in order; every defect goes to `problems`.

    Holds one line; the ids in use are in a temporary file, so that memory does not grow with the
    cases. `case_id` is unique in its suite, over all files together.
    """
    with SeenIds() as seen_ids:
        for path in files:
            reader = _SuiteReader(problems, seen_ids, UnknownKeys(problems))
            for line, document in read_objects(path, problems):
                case = reader.case(path, line, document)
                if case is not None:
                    yield path, case


@dataclass(slots=True)
class _SuiteReader:
    problems: Problems
    seen_ids: SeenIds
    unknown_keys: UnknownKeys

    def case(self, path: Path, line: int, document: dict[str, Any]) -> Case | None:
        """The case of one line, or `None` with the reasons in `problems`."""
        misspelt = self._report_unknown_keys(path, line, document)
        try:
            test_case = FailproofCase.model_validate(document)
        except ValidationError as error:
            for code, name, message in defects(error):
                self.problems.error(code, message, path=path, line=line, field=name)
            return None
        unique = self._claim(path, line, test_case)
        prompt = self._filled(path, line, test_case)
        usable = self._is_usable(path, line, document)
        if prompt is None or not unique or misspelt or not usable:
            return None
        self._warn_empty(path, line, test_case)
        self._warn_of_reading(path, line, document.get("expected_response"))
        grading_keys = ("expected_response", "expected_classification")
        return Case(
            dialect="failproof",
            case_id=test_case.case_id,
            suite_id=test_case.suite_id,
            turns=(*_earlier(test_case), Turn(role="user", content=prompt)),
            expectation={name: document[name] for name in grading_keys if name in document},
            tags=tuple(test_case.tags),
            severity=test_case.severity_expectation,
            document=document,
        )

    def _claim(self, path: Path, line: int, test_case: FailproofCase) -> bool:
        """Claim the case's id in its suite. For a duplicate, report an error and return `False`."""
        first = self.seen_ids.claim(test_case.suite_id, test_case.case_id, path, line)
        if first is None:
            return True
        self.problems.error(
            "duplicate-id",
            f"duplicate id {test_case.case_id!r} in suite {test_case.suite_id!r}, "
            f"first used at {first}",
            path=path,
            line=line,
            field="case_id",
            remedy="give each case of a suite its own case_id",
        )
        return False

    def _is_usable(self, path: Path, line: int, document: dict[str, Any]) -> bool:
        """Whether a reply could meet `expected_response`; if none could, report an error."""
        expected = document.get("expected_response")
        defect = None if expected is None else expectation.defect(expected)
        if defect is not None:
            self.problems.error(
                "invalid-pattern",
                defect.message,
                path=path,
                line=line,
                field="expected_response",
                remedy=defect.remedy,
            )
        return defect is None

    def _warn_of_reading(self, path: Path, line: int, expected: str | None) -> None:
        """Warn of an `expected_response` that is probably read differently than intended."""
        if expected is None:
            return
        if (fault := expectation.syntax_error(expected)) is not None:
            self._warn_of_expectation("invalid-pattern", path, line, fault.message, fault.remedy)
        if is_description(expected):
            self._warn_of_expectation(
                "description-not-text",
                path,
                line,
                "reads as a description of the reply; replies are searched for these very words",
                "write a text or an expression that a right reply holds, or use a dialect with a "
                "judge (benchmark, redteam)",
            )

    def _warn_of_expectation(
        self, code: str, path: Path, line: int, message: str, remedy: str
    ) -> None:
        self.problems.warning(
            code, message, path=path, line=line, field="expected_response", remedy=remedy
        )

    def _filled(self, path: Path, line: int, test_case: FailproofCase) -> str | None:
        """The prompt as sent. If a variable has no value, report an error and return `None`.

        Without any `prompt_vars` the prompt is "the exact text to be sent": what looks like a
        variable stays, with a warning.
        """
        filled = fill(test_case.prompt, test_case.prompt_vars)
        if filled.missing and not test_case.prompt_vars:
            names = ", ".join(f"{{{{{name}}}}}" for name in filled.missing)
            self.problems.warning(
                "placeholder-unresolved",
                f"the case has no prompt_vars: {names} is sent literally",
                path=path,
                line=line,
                field="prompt",
                remedy="if it is a variable, add prompt_vars with its value",
            )
            return test_case.prompt
        for name in filled.missing:
            self.problems.error(
                "placeholder-unresolved",
                f"the prompt's variable {{{{{name}}}}} has no value",
                path=path,
                line=line,
                field=f"prompt_vars.{name}",
                remedy="add it to prompt_vars",
            )
        for name in filled.unused:
            self.problems.warning(
                "no-effect",
                f"the prompt has no {{{{{name}}}}}: the variable is not used",
                path=path,
                line=line,
                field=f"prompt_vars.{name}",
                remedy="remove it, or check its spelling",
            )
        return None if filled.missing else filled.text

    def _report_unknown_keys(self, path: Path, line: int, document: dict[str, Any]) -> bool:
        """Report the keys that the specification does not have. Returns whether one is an error."""
        misspelt = [
            self.unknown_keys.report(key, FIELDS, document, path=path, line=line, field=key)
            for key in document
            if key not in FIELDS
        ]
        return any(misspelt)

    def _warn_empty(self, path: Path, line: int, test_case: FailproofCase) -> None:
        for name in ("case_id", "suite_id", "prompt"):
            if not getattr(test_case, name).strip():
                self.problems.warning("empty-value", "is empty", path=path, line=line, field=name)


def _earlier(test_case: FailproofCase) -> list[Turn]:
    return [
        Turn(role=message.role, content=message.content) for message in test_case.earlier_messages
    ]
