"""The importer of promptfoo's configurations: a case for each test and combination."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from failproof_es.core.case import PARTLY_IMPORTED, Turn
from failproof_es.importers.promptfoo import assertions
from failproof_es.importers.promptfoo.assertions import TestExpectation
from failproof_es.importers.promptfoo.attributes import (
    CaseAttributes,
    attributes_of,
    id_of_description,
)
from failproof_es.importers.promptfoo.documents import DocumentNode, read_configuration
from failproof_es.importers.promptfoo.matrix import NoMatrix, PromptMatrix, matrix_of
from failproof_es.importers.promptfoo.models import read_grader, read_models
from failproof_es.importers.promptfoo.prompts import Prompt, read_prompts
from failproof_es.importers.promptfoo.templates import TemplateError, fill
from failproof_es.importers.promptfoo.tests import (
    MAX_COMBINATIONS,
    Test,
    read_default_test,
    read_tests,
)
from failproof_es.importers.promptfoo.unused_names import UnusedNames
from failproof_es.importers.protocol import Findings, ImportedCase, Options, Place
from failproof_es.importers.record_values import MAX_TEXT, UnusableRecord
from failproof_es.importers.source import Source
from failproof_es.problems import InvalidInput, Problem

_READ = frozenset({"prompts", "tests", "defaultTest", "scenarios", "providers", "targets"})
_WITHOUT_EFFECT = frozenset({"description", "$schema"})
_NAME_OF_NONE = "My eval"
"""The description in each configuration that `promptfoo init` writes: it tells none apart."""


class PromptfooImporter:
    """The importer `promptfoo`, of promptfoo's configurations."""

    name = "promptfoo"
    says = "A promptfoo configuration: prompts x tests x assertions, as far as they map."
    takes: frozenset[str] = frozenset()

    def cases(self, source: Source, options: Options, findings: Findings) -> Iterator[ImportedCase]:
        """Yield a case for each test and combination of variables.

        The prompts are added to `findings` as templates; if they cannot be templates, there is a
        case for each prompt, too. Unmapped parts, the models and the description, as the source's
        name, are added to `findings`. Raises `InvalidInput` if the configuration cannot be read or
        has no usable prompt.
        """
        configuration = read_configuration(source)
        for key in configuration.value:
            if key not in _READ | _WITHOUT_EFFECT:
                findings.note(configuration.place(str(key)), "the key is not taken over")
        findings.name = _name_in(configuration)
        findings.models += read_models(configuration, findings)
        findings.judge = read_grader(configuration)
        prompts = read_prompts(source, configuration, findings)
        if not prompts:
            raise InvalidInput(
                [
                    Problem(
                        "not-mapped",
                        "no prompt can be imported",
                        configuration.path,
                        field="prompts",
                    ),
                    *findings.not_mapped.problems(),
                ]
            )
        described = Counter[str | None]()
        matrix = _read_matrix(source, configuration, prompts, described, findings)
        writer = _CaseWriter(prompts, matrix, described, findings)
        for number, test in enumerate(read_tests(source, configuration, findings), 1):
            findings.read += 1
            yield from writer.cases_of(test, number)


def _name_in(configuration: DocumentNode) -> str | None:
    description = configuration.value.get("description")
    is_name = isinstance(description, str) and description.strip() != _NAME_OF_NONE
    return id_of_description(description) if is_name else None


def _read_matrix(
    source: Source,
    configuration: DocumentNode,
    prompts: Sequence[Prompt],
    described: Counter[str | None],
    findings: Findings,
) -> PromptMatrix | None:
    """The matrix of the prompts, whose templates are added to `findings`; `None` without one.

    The ids of all tests' descriptions are counted in `described`. The tests are read once more for
    both: a million of them do not fit into memory.
    """
    unheard = Findings()
    default = read_default_test(source, configuration, unheard)
    tests = _count_descriptions(read_tests(source, configuration, unheard), described)
    try:
        matrix = matrix_of(prompts, tests, default)
    except NoMatrix as error:
        remark = f"the prompts stay in the cases, where `diff` pairs no edited one: {error}"
        findings.remarks.append(remark)
        for _ in tests:  # those after the one that fits no matrix are counted, too
            pass
        return None
    findings.prompts.update(matrix.templates)
    return matrix


def _count_descriptions(tests: Iterator[Test], described: Counter[str | None]) -> Iterator[Test]:
    for test in tests:
        described[id_of_description(test.description)] += 1
        yield test


@dataclass(slots=True)
class _CaseWriter:
    prompts: Sequence[Prompt]
    matrix: PromptMatrix | None
    described: Mapping[str | None, int]
    """The number of tests with each id of a description: a unique one is its test's id."""
    findings: Findings
    _reported: set[tuple[Place, str]] = field(default_factory=set)
    """The notes on assertions already made: a note for all tests is made once."""
    _ids: UnusedNames = field(default_factory=UnusedNames)
    """The ids in use, in groups by suite."""

    def cases_of(self, test: Test, number: int) -> Iterator[ImportedCase]:
        """Yield the cases of the test, which is the configuration's `number`th."""
        reason = self._reason_against(test)
        if reason is not None:
            self.findings.note(test.place, f"the case is not written: {reason}")
            return
        attributes = attributes_of(test, self.findings)
        several = test.expanded and any(isinstance(v, list) for v in test.variables.values())
        for combination, variables in enumerate(test.combinations(), 1):
            expected = self._expected(test, variables)
            if expected is None:
                continue
            case_id = attributes.case_id or self._unique_description(test) or f"test-{number}"
            case_id += f"-vars-{combination}" if several else ""
            if self.matrix is not None:
                yield from self._case(test, case_id, attributes, expected, None, variables)
                continue
            for index, prompt in enumerate(self.prompts, 1):
                own_id = f"{case_id}-prompt-{index}" if len(self.prompts) > 1 else case_id
                if test.prompts is None or prompt.label in test.prompts:
                    yield from self._case(test, own_id, attributes, expected, prompt, variables)

    def _unique_description(self, test: Test) -> str | None:
        description_id = id_of_description(test.description)
        return description_id if self.described[description_id] == 1 else None

    def _reason_against(self, test: Test) -> str | None:
        """Why the test cannot become cases; `None` if it can."""
        labels = [prompt.label for prompt in self.prompts]
        if test.broken is not None:
            return test.broken
        if test.prompts is not None and not set(labels).intersection(test.prompts):
            return "it names no prompt that was taken over"
        if test.too_many():
            return f"its variables have more than {MAX_COMBINATIONS:,} combinations"
        if test.transformed and test.assertions:
            return "its assertions decide on what code makes of the answer"
        if test.expanded and [] in test.variables.values():
            return "one of its variables is an empty list"
        return None

    def _case(
        self,
        test: Test,
        case_id: str,
        attributes: CaseAttributes,
        expected: TestExpectation,
        prompt: Prompt | None,
        variables: Mapping[str, Any],
    ) -> Iterator[ImportedCase]:
        """Yield the case, with the text of `prompt` or else of the matrix.

        If it has none, that is noted.
        """
        place = test.place
        try:
            if prompt is not None:
                turns = prompt.turns(variables, *test.affixes, self.findings)
            else:
                turns = self._turns_of_matrix(variables)
        except TemplateError as error:
            reason = f"the case is not written: {error}"
            self.findings.note(place, reason, error.expression)
            return
        except UnusableRecord as error:
            place = place if prompt is None else prompt.place
            self.findings.note(place, f"the case is not written: {error}")
            return
        is_one_of_several = prompt is not None and len(self.prompts) > 1
        yield ImportedCase(
            self._ids.take(case_id, attributes.suite),
            turns,
            place,
            tuple(expected.checks),
            tuple(expected.criteria),
            tuple(expected.refused),
            (
                *([PARTLY_IMPORTED] if expected.undecided else []),
                *([f"prompt:{prompt.label}"] if prompt and is_one_of_several else []),
                *attributes.tags,
            ),
            attributes.suite,
            attributes.severity,
            expected.refusal,
            is_stated_in_checks=True,
        )

    def _turns_of_matrix(self, variables: Mapping[str, Any]) -> tuple[Turn, ...]:
        assert self.matrix is not None
        text = fill(self.matrix.case_text, variables)
        if not text.strip():
            raise UnusableRecord("its variables are empty")
        if len(text) > MAX_TEXT:
            raise UnusableRecord(f"the prompt is longer than {MAX_TEXT:,} characters")
        return (Turn(role="user", content=text),)

    def _expected(self, test: Test, variables: Mapping[str, Any]) -> TestExpectation | None:
        """The expectation from the test's assertions; `None` if there are some and none maps."""
        expected = TestExpectation()

        def filled(text: str) -> str:
            return fill(text, variables)

        for place, assertion in test.assertions:
            lost = len(expected.lost)
            if assertion is None:  # noted already
                expected.undecided += 1
                continue
            assertions.add_assertion(expected, assertion, filled)
            for part in expected.lost[lost:]:
                steps = [name for name in (place.field, part.field) if name]
                at = place._replace(field=".".join(steps) or None)
                if (at, part.reason) not in self._reported:
                    self._reported.add((at, part.reason))
                    self.findings.note(at, part.reason, part.subject)
        if expected.undecided and not expected.anything:
            reason = "the case is not written: none of its assertions maps"
            self.findings.note(test.place, reason)
            return None
        return expected


PROMPTFOO = PromptfooImporter()
