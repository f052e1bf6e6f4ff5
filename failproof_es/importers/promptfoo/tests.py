"""Reads promptfoo's tests: variables and assertions, in the configuration, files, scenarios."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from math import prod
from typing import Any

from failproof_es.importers.promptfoo.assertions import CODE, of_text, plain_text
from failproof_es.importers.promptfoo.documents import (
    TEXT,
    DocumentNode,
    NotRead,
    is_reference,
    read_data,
    read_text,
    referred,
)
from failproof_es.importers.protocol import Findings, Place
from failproof_es.importers.source import Source

MAX_COMBINATIONS = 100_000
"""The most combinations of the list variables of one test."""
_KEYS = frozenset({"vars", "assert", "options", "description", "metadata", "prompts"})
_NO_DEFAULTS = "disableDefaultAsserts"
_OPTIONS = frozenset({"prefix", "suffix", "disableVarExpansion", _NO_DEFAULTS})
_NO_COUNTERPART = {
    "threshold": "a threshold has no counterpart: all assertions of a case must hold",
    "provider": "a case is asked of every model of the configuration",
    "providers": "a case is asked of every model of the configuration",
    **dict.fromkeys(("assertScoringFunction", "transform", "transformVars", "postprocess"), CODE),
    "providerOutput": "a recorded answer is no case",
}
_LOST_OPTIONS = {
    **_NO_COUNTERPART,
    "provider": "the grader is not taken over: name it under `judges:`, as judged.yaml shows",
}
_LIST_COMMA = re.compile(r"(?<!\\),")
_CHANGES_ANSWERS = ("transform", "postprocess")


@dataclass(slots=True)
class Test:
    """A test, with the parts of the default test and of scenarios.

    The assertions have their places; an assertion is `None` if it was noted as unmapped. `prompts`
    are the labels of the test's prompts, `None` for all.
    """

    __test__ = False  # pytest must not collect it for its name

    place: Place
    variables: dict[str, Any] = field(default_factory=dict)
    assertions: list[tuple[Place, Any]] = field(default_factory=list)
    description: str | None = None
    options: dict[str, Any] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)
    prompts: list[str] | None = None
    broken: str | None = None
    """Why the test cannot become a case."""
    transformed: bool = False
    """Whether code changes the answer before the assertions apply."""
    inherited: int = 0
    """How many of the assertions, the first ones, are the default test's."""

    @property
    def affixes(self) -> tuple[str, str]:
        """The texts before and behind the text of a prompt."""
        prefix, suffix = (plain_text(self.options.get(name)) for name in ("prefix", "suffix"))
        return prefix, suffix

    def has(self, path: str) -> bool:
        """Whether the test has the variable of a template's path."""
        return path.split(".")[0] in self.variables

    @property
    def expanded(self) -> bool:
        """Whether a list variable stands for each of its values in turn."""
        return not self.options.get("disableVarExpansion")

    def too_many(self) -> bool:
        """Whether the list variables have more than `MAX_COMBINATIONS` combinations."""
        lists = (len(value) for value in self.variables.values() if isinstance(value, list))
        return self.expanded and prod(lists) > MAX_COMBINATIONS

    def combinations(self) -> Iterator[dict[str, Any]]:
        """Yield the variables of each combination of the list variables."""
        if not self.expanded:
            yield dict(self.variables)
            return
        lists = {name: v for name, v in self.variables.items() if isinstance(v, list)}
        for combination in product(*lists.values()):
            yield {**self.variables, **dict(zip(lists, combination, strict=True))}


def read_tests(source: Source, configuration: DocumentNode, findings: Findings) -> Iterator[Test]:
    """Yield every test, merged with the default test.

    Unusable entries are noted in `findings`. A scenario gives a test for each of its
    configurations.
    """
    reader = _TestReader(source, findings)
    value = configuration.value
    default = read_default_test(source, configuration, findings)
    scenarios = value.get("scenarios")
    if "tests" in value or not scenarios:
        tests = value.get("tests")
        for document in reader.documents(configuration, ("tests",), tests):
            yield reader.test(default, document)
        if tests is None:
            yield _copy(default, configuration.place())
    for scenario in reader.documents(configuration, ("scenarios",), scenarios):
        yield from reader.of_scenario(default, scenario)


def read_default_test(source: Source, configuration: DocumentNode, findings: Findings) -> Test:
    """The default test, empty if there is none. Unusable entries are noted in `findings`."""
    reader = _TestReader(source, findings)
    default = Test(configuration.place("defaultTest"))
    definition = configuration.value.get("defaultTest")
    for document in reader.documents(configuration, ("defaultTest",), definition):
        reader.merge(default, document)
    default.inherited = len(default.assertions)
    return default


@dataclass(slots=True)
class _TestReader:
    source: Source
    findings: Findings

    def documents(
        self, parent: DocumentNode, steps: tuple[str | int, ...], value: Any
    ) -> Iterator[DocumentNode]:
        """Yield the mappings in a value, in lists and in the files that it names.

        The value is the part of `parent` at `steps`. Anything else is noted in `findings`.
        """
        document = parent.part(*steps, value=value)
        if value is None:
            return
        if isinstance(value, list):
            for index, part in enumerate(value):
                yield from self.documents(parent, (*steps, index), part)
        elif isinstance(value, dict) and is_reference(value.get("path")):
            yield from self.documents(parent, (*steps, "path"), value["path"])
        elif isinstance(value, dict):
            yield document
        elif isinstance(value, str):
            yield from self._read_reference(document, value)
        else:
            self.findings.note(document.place(), "is neither a mapping nor a file")

    def _read_reference(self, document: DocumentNode, value: str) -> Iterator[DocumentNode]:
        if "://" in value and not is_reference(value):
            self.findings.note(document.place(), "is fetched or run, which is not done")
            return
        try:
            for path in referred(self.source, value, document.path.parent):
                for child in read_data(self.source, path):
                    if isinstance(child.value, list):
                        for n, entry in enumerate(child.value):
                            if isinstance(entry, dict):
                                yield child.part(n, value=entry)
                            else:
                                self.findings.note(child.place(n), "is not a mapping")
                    elif isinstance(child.value, dict):
                        yield _test_of_row(child) if child.tree is None else child
                    else:
                        self.findings.note(child.place(), "is not a mapping")
        except NotRead as error:
            self.findings.note(document.place(), f"the file {error}", error.subject)

    def test(self, default: Test, document: DocumentNode) -> Test:
        """The test of a document, merged into a copy of the default test."""
        made = _copy(default, document.place())
        self.merge(made, document)
        return made

    def of_scenario(self, default: Test, scenario: DocumentNode) -> Iterator[Test]:
        """Yield each test of a scenario with each of its configurations, merged with `default`."""
        value = scenario.value
        for key in value.keys() - {"config", "tests", "description"}:
            self.findings.note(scenario.place(key), "the key of a scenario is not known here")
        tests = list(self.documents(scenario, ("tests",), value.get("tests")))
        for config in self.documents(scenario, ("config",), value.get("config")):
            base = self.test(default, config)
            for document in tests:
                yield self.test(base, document)

    def merge(self, test: Test, document: DocumentNode) -> None:
        """Merge a test's document into `test`; its values override, its assertions are added.

        An option of the document removes those of the default test.
        """
        value, note = document.value, self.findings.note
        for key in value:
            if key not in _KEYS:
                reason = _NO_COUNTERPART.get(key, "the key of a test is not known here")
                note(document.place(str(key)), reason)
        test.variables.update(self._read_variables(test, document))
        options = value.get("options")
        if isinstance(options, dict) and options.get(_NO_DEFAULTS) is True:
            del test.assertions[: test.inherited]
            test.inherited = 0
        asserted = value.get("assert")
        for n, assertion in enumerate(asserted if isinstance(asserted, list) else []):
            if isinstance(assertion, dict) and assertion.get("type") == "assert-set":
                note(document.place("assert", n), "a set of assertions has no counterpart")
                test.assertions.append((document.place("assert", n), None))
                continue
            test.assertions.append(
                (document.place("assert", n), self._resolve_assertion(document, n, assertion))
            )
        if asserted is not None and not isinstance(asserted, list):
            note(document.place("assert"), "is not a list of assertions")
        for key in options if isinstance(options, dict) else ():
            if key in _OPTIONS:
                test.options[key] = options[key]
            else:
                reason = _LOST_OPTIONS.get(key, "the option of a test has no counterpart")
                note(document.place("options", key), reason)
        settings = {**value, **(options if isinstance(options, dict) else {})}
        test.transformed |= any(settings.get(key) is not None for key in _CHANGES_ANSWERS)
        if isinstance(value.get("metadata"), dict):
            test.metadata.update(value["metadata"])
        if isinstance(value.get("description"), str):
            test.description = value["description"]
        if "prompts" in value:
            selection = value["prompts"]
            names = selection if isinstance(selection, list) else [selection]
            test.prompts = [str(name) for name in names]

    def _read_variables(self, test: Test, document: DocumentNode) -> dict[str, Any]:
        variables = document.value.get("vars")
        if is_reference(variables):
            merged: dict[str, Any] = {}
            for child in self.documents(document, ("vars",), variables):
                merged.update(child.value)
            variables = merged
        if variables is None:
            return {}
        if not isinstance(variables, dict):
            self.findings.note(document.place("vars"), "is not a mapping")
            return {}
        return {
            str(name): self._resolve_variable(test, document, name, v)
            for name, v in variables.items()
        }

    def _resolve_variable(self, test: Test, document: DocumentNode, name: str, value: Any) -> Any:
        if not is_reference(value):
            return value
        try:
            [path] = referred(self.source, value, document.path.parent)
            if path.suffix.lower() in TEXT:
                return read_text(self.source, path).strip()
            [data] = read_data(self.source, path)
            return data.value
        except (NotRead, ValueError) as error:
            self._note_unread(document.place("vars", name), value, error)
            test.broken = "a variable's file is not read"
            return None

    def _resolve_assertion(self, document: DocumentNode, n: int, assertion: Any) -> Any:
        """The assertion, with its value read from a referenced file; `None` if that fails.

        `n` is its index in the document's `assert`, from 0.
        """
        if not isinstance(assertion, Mapping) or not is_reference(assertion.get("value")):
            return assertion
        try:
            [path] = referred(self.source, assertion["value"], document.path.parent)
            if path.suffix.lower() in TEXT:
                return {**assertion, "value": read_text(self.source, path).strip()}
            [data] = read_data(self.source, path)
            return {**assertion, "value": data.value}
        except (NotRead, ValueError) as error:
            self._note_unread(document.place("assert", n, "value"), assertion["value"], error)
            return None

    def _note_unread(self, place: Place, reference: str, error: Exception) -> None:
        reason = str(error) if isinstance(error, NotRead) else "names several files"
        self.findings.note(place, f"the file {reason}", reference)


def _copy(test: Test, place: Place) -> Test:
    return Test(
        place,
        dict(test.variables),
        list(test.assertions),
        test.description,
        dict(test.options),
        dict(test.metadata),
        test.prompts,
        test.broken,
        test.transformed,
        test.inherited,
    )


def _test_of_row(row: DocumentNode) -> DocumentNode:
    """A table's row as a test: columns are variables, or other parts if they begin with `__`.

    A row with `vars` or `assert` is a test already, and is unchanged.
    """
    if "vars" in row.value or "assert" in row.value:
        return row
    made: dict[str, Any] = {"vars": {}, "assert": [], "options": {}, "metadata": {}}
    for name, text in row.value.items():
        plain = name.strip()
        if plain.startswith("__expected"):
            if cell := plain_text(text).strip():
                made["assert"].append(of_text(cell))
        elif plain in ("__prefix", "__suffix"):
            made["options"][plain[2:]] = text
        elif plain == "__description":
            made["description"] = text
        elif plain.startswith("__metadata:"):
            key = plain.removeprefix("__metadata:")
            values = _split_list(text) if key.endswith("[]") else text
            made["metadata"][key.removesuffix("[]")] = values
        elif plain.startswith("__"):
            if plain_text(text).strip():
                made[plain] = text
        else:
            made["vars"][plain] = text
    return DocumentNode(made, row.path, row.display_path, None, (), row.line)


def _split_list(text: Any) -> list[str]:
    """The texts between commas of a cell; `\\,` is a comma in a text."""
    parts = (part.replace("\\,", ",").strip() for part in _LIST_COMMA.split(str(text or "")))
    return [part for part in parts if part]
