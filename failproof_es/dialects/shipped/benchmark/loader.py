"""Benchmark tasks: YAML files in, cases out, nothing skipped silently.

A file holds one task or a list of them. YAML that could execute, refer to itself or explode
(tags, anchors, aliases, depth) is refused by `configuration.yaml_tree`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from failproof_es.core.case import Case, Turn
from failproof_es.dialects.kit.json_lines import Defect, parse_object
from failproof_es.dialects.kit.taken_ids import SeenIds
from failproof_es.dialects.kit.unknown_keys import refuse
from failproof_es.dialects.kit.yaml_documents import Location, YamlTree, dotted, read_yaml
from failproof_es.dialects.shipped.benchmark import task
from failproof_es.dialects.shipped.benchmark.options import BenchmarkOptions
from failproof_es.dialects.shipped.benchmark.prompts import generation_prompt
from failproof_es.problems import Problems
from failproof_es.support.plurals import plural

SUFFIXES = (".yaml", ".yml")
_LOOKED_AT = 65_536
_MARKS = ("task_id", "most_expected", "incorrect_direction")


def looks_like_ours(path: Path) -> bool:
    """Whether the file is YAML and its first 64 KiB have a key of specification 003 alone.

    `False` for a file that can't be read.
    """
    if path.suffix.lower() not in SUFFIXES:
        return False
    try:
        with path.open("rb") as stream:
            head = stream.read(_LOOKED_AT).decode("utf-8", "replace")
    except OSError:
        return False
    lines = [line.lstrip(" -") for line in head.splitlines()]
    return any(line.startswith(f"{mark}:") for line in lines for mark in _MARKS)


def load(files: Sequence[Path], options: BenchmarkOptions, problems: Problems) -> Iterator[Case]:
    """Yield every valid task, in file order; every defect of every file goes to `problems`.

    Ids are unique over all files together: of two tasks with one id the first is kept.
    """
    unused = _UnusedKeys()
    with SeenIds() as seen_ids:
        for path in files:
            before = len(problems.errors)
            tree = read_yaml(path, problems)
            if tree is None or len(problems.errors) > before:
                continue
            yield from _TaskFile(path, tree, problems, options, unused).cases(seen_ids)
    unused.warn(problems)


def as_case(
    document: dict[str, Any], suite_id: str, source: str, options: BenchmarkOptions
) -> Case:
    """The case of a valid task: the message to send, and the data that grade the answer.

    `document` is the task, `suite_id` the name of its folder, `source` the name of its file.
    """
    question = task.compose_question(document, options.input_keys)
    expectation = {
        "question": question,
        **{name: document[task.EXPECTED][name] for name in task.ANSWER_TEXTS},
        "incorrect_direction": document["incorrect_direction"],
    }
    if options.judge_template is not None:
        expectation["judge_template"] = options.judge_template
    prompt = generation_prompt(question, options.generation_template)
    sub_category = document.get("sub_category")
    return Case(
        dialect="benchmark",
        case_id=document["task_id"],
        suite_id=suite_id,
        turns=(Turn(role="user", content=prompt),),
        expectation=expectation,
        category=document.get("category"),
        source=source,
        tags=() if sub_category is None else (sub_category,),
        document=document,
    )


@dataclass(slots=True)
class _UnusedKeys:
    """The task keys that have no effect: in how many tasks each occurs, and where first."""

    first: dict[str, tuple[Path, int | None]] = field(default_factory=dict)
    tasks: Counter[str] = field(default_factory=Counter)

    def note(self, path: Path, tree: YamlTree, at: Location, keys: Iterable[Location]) -> None:
        """Count the unused keys of one task.

        `at` is the location of the task in the file, `keys` are locations inside the task.
        """
        for location in keys:
            name = dotted(location)
            self.tasks[name] += 1
            self.first.setdefault(name, (path, tree.line_of((*at, *location))))

    def warn(self, problems: Problems) -> None:
        """Warn once of each key, at its first place, with its number of tasks."""
        for name, (path, line) in self.first.items():
            where = plural(self.tasks[name], "task")
            message = (
                f"unknown field: kept with the stored task, not used, in {where} (first seen here)"
            )
            problems.warning("unknown-field", message, path=path, line=line, field=name)


@dataclass(slots=True)
class _TaskFile:
    path: Path
    tree: YamlTree
    problems: Problems
    options: BenchmarkOptions
    unused: _UnusedKeys

    def cases(self, seen_ids: SeenIds) -> Iterator[Case]:
        value = self.tree.value
        if value == []:
            self.problems.error(
                "no-cases", "the list is empty: it holds no task", path=self.path, line=1
            )
        is_list = isinstance(value, list)
        for index, task_value in enumerate(value if is_list else [value]):
            at: Location = (index,) if is_list else ()
            document = self._document(task_value, at)
            if document is not None and self._valid(document, at, seen_ids):
                unknown = task.unknown_keys(document, self.options.input_keys)
                self.unused.note(self.path, self.tree, at, (location for location, *_ in unknown))
                suite = self.path.resolve().parent.name or self.path.stem
                yield as_case(document, suite, self.path.name, self.options)

    def _document(self, value: Any, at: Location) -> dict[str, Any] | None:
        """The task as a JSON object, or `None` with the reason in `problems`.

        `at` is the location of the task in the file.
        """
        if not isinstance(value, dict):
            remedy = "write a task as `key: value` lines, or a list of such tasks"
            self._error("wrong-type", at, "is not a task", remedy)
            return None
        try:
            return parse_object(json.dumps(value).encode(), "task")
        except Defect as defect:
            place = (*at, defect.field) if defect.field else at
            self._error(defect.code, place, defect.message, defect.remedy)
            return None

    def _valid(self, document: dict[str, Any], at: Location, seen_ids: SeenIds) -> bool:
        option_keys = self.options.input_keys, self.options.unsent_keys
        findings = list(task.defects(document, *option_keys))
        for finding in findings:
            location = (*at, *finding.location)
            self._error(finding.code, location, finding.message, finding.remedy)
        reported_locations = {finding.location for finding in findings}
        misspelt = [
            refuse(
                self.problems, str(location[-1]), names, owner, **self._place_of((*at, *location))
            )
            for location, names, owner in task.unknown_keys(document, self.options.input_keys)
            if location not in reported_locations
        ]
        task_id = document.get("task_id")
        if not isinstance(task_id, str) or not task_id.strip():
            return False
        place = self._place_of((*at, "task_id"))
        is_new = seen_ids.is_new("", task_id, self.problems, "task", **place)
        return not findings and is_new and not any(misspelt)

    def _error(self, code: str, location: Location, message: str, remedy: str | None) -> None:
        self.problems.error(code, message, remedy=remedy, **self._place_of(location))

    def _place_of(self, location: Location) -> dict[str, Any]:
        is_list = isinstance(self.tree.value, list)
        return {
            "path": self.path,
            "line": self.tree.line_of(location),
            "field": dotted(location) or None,
            "case_line": self.tree.line_of(location[:1]) if is_list else 1,
        }
