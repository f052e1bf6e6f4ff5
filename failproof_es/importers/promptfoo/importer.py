"""The importer of promptfoo's configurations: a case for each prompt, test and combination."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from failproof_es.importers.promptfoo import assertions
from failproof_es.importers.promptfoo.assertions import TestExpectation
from failproof_es.importers.promptfoo.documents import read_configuration
from failproof_es.importers.promptfoo.models import read_models
from failproof_es.importers.promptfoo.prompts import Prompt, read_prompts
from failproof_es.importers.promptfoo.templates import fill
from failproof_es.importers.promptfoo.tests import MAX_COMBINATIONS, Test, read_tests
from failproof_es.importers.protocol import Findings, ImportedCase, Options, Place
from failproof_es.importers.records import UnusableRecord
from failproof_es.importers.source import Source
from failproof_es.problems import InvalidInput, Problem

_READ = frozenset({"prompts", "tests", "defaultTest", "scenarios", "providers", "targets"})
_WITHOUT_EFFECT = frozenset({"description", "$schema"})
_LONGEST_TAG = 100
PARTLY = "partly-imported"
"""The tag of a case with an assertion that was not imported: the case passes more easily."""


class PromptfooImporter:
    """The importer `promptfoo`, of promptfoo's configurations."""

    name = "promptfoo"
    says = "A promptfoo configuration: prompts x tests x assertions, as far as they map."
    takes: frozenset[str] = frozenset()

    def cases(self, source: Source, options: Options, findings: Findings) -> Iterator[ImportedCase]:
        """Yield a case for each test, prompt and combination of variables.

        Unmapped parts and the models are added to `findings`. Raises `InvalidInput` if the
        configuration cannot be read or has no usable prompt.
        """
        configuration = read_configuration(source)
        for key in configuration.value:
            if key not in _READ | _WITHOUT_EFFECT:
                findings.note(configuration.place(str(key)), "the key is not taken over")
        findings.models += read_models(configuration, findings)
        prompts = read_prompts(source, configuration, findings)
        if not prompts:
            message = "no prompt can be taken over"
            raise InvalidInput([Problem(message, configuration.path, field="prompts")])
        reported: set[tuple[Place, str]] = set()
        for number, test in enumerate(read_tests(source, configuration, findings), 1):
            findings.read += 1
            yield from _cases_of(test, number, prompts, findings, reported)


def _cases_of(
    test: Test,
    number: int,
    prompts: list[Prompt],
    findings: Findings,
    reported: set[tuple[Place, str]],
) -> Iterator[ImportedCase]:
    test_prompts = [
        prompt for prompt in prompts if test.prompts is None or prompt.label in test.prompts
    ]
    reason = test.broken or (None if test_prompts else "it names no prompt that was taken over")
    if reason is None and test.too_many():
        reason = f"its variables have more than {MAX_COMBINATIONS:,} combinations"
    if reason is None and test.transformed and test.assertions:
        reason = "its assertions decide on what code makes of the answer"
    if reason is None and [] in test.variables.values() and test.expanded:
        reason = "one of its variables is an empty list"
    if reason is not None:
        findings.note(test.place, f"the case is not written: {reason}")
        return
    for combination, variables in enumerate(test.combinations(), 1):
        expected = _expected(test, variables, findings, reported)
        if expected is None:
            continue
        several = test.expanded and any(isinstance(v, list) for v in test.variables.values())
        for index, prompt in enumerate(prompts, 1):
            if prompt not in test_prompts:
                continue
            case_id = f"test-{number}"
            case_id += f"-vars-{combination}" if several else ""
            case_id += f"-prompt-{index}" if len(prompts) > 1 else ""
            try:
                prefix, suffix = (str(test.options.get(name, "")) for name in ("prefix", "suffix"))
                turns = prompt.turns(variables, prefix, suffix, findings)
            except (UnusableRecord, ValueError) as error:
                place = test.place if isinstance(error, ValueError) else prompt.place
                findings.note(place, f"the case is not written: {error}")
                continue
            yield ImportedCase(
                case_id,
                turns,
                test.place,
                tuple(expected.checks),
                tuple(expected.criteria),
                tuple(expected.refused),
                _tags(test, expected, prompt if len(prompts) > 1 else None),
            )


def _expected(
    test: Test, variables: Mapping[str, Any], findings: Findings, reported: set[tuple[Place, str]]
) -> TestExpectation | None:
    """The expectation from the test's assertions; `None` if there are some and none of them maps.

    `reported` holds the notes already made: a note for all tests is made once.
    """
    expected = TestExpectation()

    def filled(text: str) -> str:
        return fill(text, variables)

    for place, assertion in test.assertions:
        lost = len(expected.lost)
        if assertion is None:  # noted already
            expected.undecided += 1
            continue
        assertions.add(expected, assertion, filled)
        for field, reason in expected.lost[lost:]:
            at = place._replace(field=f"{place.field}.{field}" if field else place.field)
            if (at, reason) not in reported:  # noted once for all tests
                reported.add((at, reason))
                findings.note(at, reason)
    if expected.undecided and not expected.anything:
        findings.note(test.place, "the case is not written: none of its assertions maps")
        return None
    return expected


def _tags(test: Test, expected: TestExpectation, prompt: Prompt | None) -> tuple[str, ...]:
    tags = [PARTLY] if expected.undecided else []
    if prompt is not None:
        tags.append(f"prompt:{prompt.label}")
    if test.description and len(test.description) <= _LONGEST_TAG:
        tags.append(test.description)
    for name, value in test.metadata.items():
        if isinstance(value, str | int | float) and len(tag := f"{name}:{value}") <= _LONGEST_TAG:
            tags.append(tag)
    return tuple(dict.fromkeys(tags))


PROMPTFOO = PromptfooImporter()
