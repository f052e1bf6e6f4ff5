"""Benchmark tasks: YAML files in, cases out, nothing skipped silently.

A file holds one task or a list of them. YAML that could execute, refer to itself or explode
(tags, anchors, aliases, depth) is refused by `configuration.yaml_tree`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from failproof_es.core.case import Case, Turn
from failproof_es.dialects.kit.looking import has_yaml_key, head_of
from failproof_es.dialects.kit.taken_ids import SeenIds
from failproof_es.dialects.kit.unknown_keys import refuse
from failproof_es.dialects.kit.written_cases import UnknownKey, WrittenCase, yaml_cases
from failproof_es.dialects.kit.yaml_documents import Location, dotted
from failproof_es.dialects.shipped.benchmark import task
from failproof_es.dialects.shipped.benchmark.options import BenchmarkOptions
from failproof_es.dialects.shipped.benchmark.prompts import generation_prompt
from failproof_es.problems import Problems
from failproof_es.support.plurals import plural

SUFFIXES = (".yaml", ".yml")
_MARKS = (b"task_id", b"most_expected", b"incorrect_direction")


def looks_like_ours(path: Path) -> bool:
    """Whether the file is YAML and its first 64 KiB have a key of specification 003 alone.

    `False` for a file that can't be read.
    """
    return has_yaml_key(head_of(path, SUFFIXES), _MARKS)


def load(files: Sequence[Path], options: BenchmarkOptions, problems: Problems) -> Iterator[Case]:
    """Yield every valid task, in file order; every defect of every file goes to `problems`.

    Ids are unique over all files together: of two tasks with one id the first is kept.
    """
    unused = _UnusedKeys()
    with SeenIds() as seen_ids:
        for path in files:
            for written_task in yaml_cases(path, problems, "task"):
                reader = _TaskReader(path, written_task, problems, options)
                if reader.is_valid(seen_ids):
                    unused.note(reader)
                    yield reader.case()
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

    def note(self, reader: _TaskReader) -> None:
        """Count the unused keys of one task."""
        for location, *_ in reader.unknown_keys():
            name = dotted(location)
            self.tasks[name] += 1
            self.first.setdefault(name, (reader.path, reader.written_task.line_of(location)))

    def warn(self, problems: Problems) -> None:
        """Warn once of each key, at its first place, with its number of tasks."""
        for name, (path, line) in self.first.items():
            where = plural(self.tasks[name], "task")
            message = (
                f"unknown field: kept with the stored task, not used, in {where} (first seen here)"
            )
            problems.warning("unknown-field", message, path=path, line=line, field=name)


@dataclass(frozen=True, slots=True)
class _TaskReader:
    path: Path
    written_task: WrittenCase
    problems: Problems
    options: BenchmarkOptions

    def case(self) -> Case:
        """The case of a valid task."""
        suite = self.path.resolve().parent.name or self.path.stem
        return as_case(self.written_task.document, suite, self.path.name, self.options)

    def unknown_keys(self) -> Iterator[UnknownKey]:
        """The keys of the task that are neither sent nor used for grading."""
        return task.unknown_keys(self.written_task.document, self.options.input_keys)

    def is_valid(self, seen_ids: SeenIds) -> bool:
        """Whether the task can be asked and graded; the reasons why not go to `problems`."""
        document = self.written_task.document
        findings = list(task.defects(document, self.options.input_keys, self.options.unsent_keys))
        for finding in findings:
            place = self._place_of(finding.location)
            self.problems.error(finding.code, finding.message, remedy=finding.remedy, **place)
        reported_locations = {finding.location for finding in findings}
        misspelt = [
            refuse(self.problems, str(location[-1]), names, owner, **self._place_of(location))
            for location, names, owner in self.unknown_keys()
            if location not in reported_locations
        ]
        task_id = document.get("task_id")
        if not isinstance(task_id, str) or not task_id.strip():
            return False
        is_new = seen_ids.is_new("", task_id, self.problems, "task", **self._place_of(("task_id",)))
        return not findings and is_new and not any(misspelt)

    def _place_of(self, location: Location) -> dict[str, Any]:
        return self.written_task.place_of(self.path, location)
