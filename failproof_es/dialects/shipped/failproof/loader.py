"""Suites of specification 000 § 1: JSON lines in, cases out, nothing skipped silently."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from failproof_es.core.case import Case, Turn
from failproof_es.dialects.kit.json_lines import read_objects
from failproof_es.dialects.kit.schemas import report_defects
from failproof_es.dialects.kit.taken_ids import SeenIds
from failproof_es.dialects.kit.unknown_keys import UnknownKeys
from failproof_es.dialects.shipped.failproof import expectation
from failproof_es.dialects.shipped.failproof.description import is_description
from failproof_es.dialects.shipped.failproof.prompt_variables import fill
from failproof_es.dialects.shipped.failproof.test_case import FIELDS, FailproofCase
from failproof_es.problems import Problems

_REMEDY_UNUSED = "remove it, or check its spelling; a name has no braces"


def load(files: Sequence[Path], problems: Problems) -> Iterator[tuple[Path, Case]]:
    """Yield every valid case with its file, in order; every defect goes to `problems`.

    Holds one line; the ids in use are in a temporary file, so that memory does not grow with the
    cases. `case_id` is unique in its suite, over all files together.
    """
    with SeenIds() as seen_ids:
        for path in files:
            unknown_keys = UnknownKeys(problems)
            for line, document in read_objects(path, problems):
                reader = _CaseReader(document, problems, {"path": path, "line": line})
                case = reader.case(seen_ids, unknown_keys)
                if case is not None:
                    yield path, case


@dataclass(frozen=True, slots=True)
class _CaseReader:
    """One line of a suite, with the place of its problems."""

    document: dict[str, Any]
    problems: Problems
    place: dict[str, Any]

    def case(self, seen_ids: SeenIds, unknown_keys: UnknownKeys) -> Case | None:
        """The case of the line, or `None` with the reasons in `problems`."""
        misspelt = unknown_keys.report_all(self.document, FIELDS, **self.place)
        try:
            test_case = FailproofCase.model_validate(self.document)
        except ValidationError as error:
            report_defects(error, self.problems, **self.place)
            return None
        suite_id, case_id = test_case.suite_id, test_case.case_id
        unique = seen_ids.is_new(suite_id, case_id, self.problems, field="case_id", **self.place)
        prompt = self._filled(test_case)
        usable = self._is_usable()
        if prompt is None or not unique or misspelt or not usable:
            return None
        self._warn_empty(test_case)
        self._warn_of_reading()
        grading_keys = ("expected_response", "expected_classification")
        return Case(
            dialect="failproof",
            case_id=case_id,
            suite_id=suite_id,
            turns=(*test_case.earlier_messages, Turn(role="user", content=prompt)),
            expectation={
                name: self.document[name] for name in grading_keys if name in self.document
            },
            tags=tuple(test_case.tags),
            severity=test_case.severity_expectation,
            document=self.document,
        )

    def _is_usable(self) -> bool:
        """Whether a reply could meet `expected_response`; if none could, report an error."""
        expected = self.document.get("expected_response")
        if expected is None or (defect := expectation.defect(expected)) is None:
            return True
        field, remedy = "expected_response", defect.remedy
        self.problems.error(
            "invalid-pattern", defect.message, field=field, remedy=remedy, **self.place
        )
        return False

    def _warn_of_reading(self) -> None:
        """Warn of an `expected_response` that is probably read differently than intended."""
        expected = self.document.get("expected_response")
        if expected is None:
            return
        if (fault := expectation.syntax_error(expected)) is not None:
            self._warn("invalid-pattern", "expected_response", fault.message, fault.remedy)
        if is_description(expected):
            self._warn(
                "description-not-text",
                "expected_response",
                "reads as a description of the reply; replies are searched for these very words",
                "write a text or an expression that a right reply holds, or use a dialect with a "
                "judge (benchmark, redteam)",
            )

    def _filled(self, test_case: FailproofCase) -> str | None:
        """The prompt as sent. If a variable has no value, report an error and return `None`.

        Without any `prompt_vars` the prompt is "the exact text to be sent": what looks like a
        variable stays, with a warning.
        """
        filled = fill(test_case.prompt, test_case.prompt_vars)
        if filled.missing and not test_case.prompt_vars:
            names = ", ".join(f"{{{{{name}}}}}" for name in filled.missing)
            message = f"the case has no prompt_vars: {names} is sent literally"
            remedy = "if it is a variable, add prompt_vars with its value"
            self._warn("placeholder-unresolved", "prompt", message, remedy)
            return test_case.prompt
        for name in filled.missing:
            self.problems.error(
                "placeholder-unresolved",
                f"the prompt's variable {{{{{name}}}}} has no value",
                field=f"prompt_vars.{name}",
                remedy="add it to prompt_vars",
                **self.place,
            )
        for name in filled.unused:
            message = f"the prompt has no {{{{{name}}}}}: the variable is not used"
            is_single = f"{{{name}}}" in test_case.prompt
            remedy = f"write {{{{{name}}}}} for {{{name}}}" if is_single else _REMEDY_UNUSED
            self._warn("no-effect", f"prompt_vars.{name}", message, remedy)
        return None if filled.missing else filled.text

    def _warn_empty(self, test_case: FailproofCase) -> None:
        for name in ("case_id", "suite_id", "prompt"):
            if not getattr(test_case, name).strip():
                self._warn("empty-value", name, "is empty")

    def _warn(self, code: str, field: str, message: str, remedy: str | None = None) -> None:
        self.problems.warning(code, message, field=field, remedy=remedy, **self.place)
