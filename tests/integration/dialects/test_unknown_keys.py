"""A misspelt key is an error in every dialect; a key of one's own is kept and listed once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from failproof_es.core.case import Case
from failproof_es.dialects import dialect_named
from failproof_es.dialects.kit.foreign_names import known_name
from failproof_es.dialects.kit.unknown_keys import closest_known_key
from failproof_es.problems import Problems
from tests.every import every

Key = tuple[str | int, ...]

FAILPROOF: dict[str, Any] = {
    "case_id": "a", "suite_id": "s", "prompt": "Hello {{name}}", "prompt_vars": {"name": "Ann"},
    "expected_response": "hello", "expected_classification": "pass", "tags": ["t"],
}  # fmt: skip
PROMPTGUARD: dict[str, Any] = {
    "prompt_id": "a", "content": "Hello", "category": "c", "expected_label": "reciprocal",
    "source": "s", "created_at": "2026-01-01T00:00:00Z",
}  # fmt: skip
REDTEAM: dict[str, Any] = {
    "id": "a", "title": "t", "category": "c", "tags": ["t"], "severity_expectation": "S1",
    "turns": [{"role": "user", "content": "Hello"}],
    "expected_behavior": {"must_do": ["Greet"], "must_not_do": [], "pass_criteria": []},
    "sources": [{"source_id": "S-1", "title": "t", "text": "Hello"}],
    "tools_expected": ["wave"], "language": "en", "notes": "n",
}  # fmt: skip
BENCHMARK: dict[str, Any] = {
    "task_id": "a", "question": "Why?", "incorrect_direction": "No.", "category": "c",
    "sub_category": "d",
    "expected_answer": {"most_expected": "A", "good_answer": "B", "pass_option": "C"},
}  # fmt: skip
COMMAND: dict[str, Any] = {
    "version": "1.0.0",
    "test_cases": [
        {
            "id": "a", "prompt": "List", "category": "correctness", "expected_command": "ls",
            "expected_alternatives": ["ls ."], "safe": True, "posix_compliant": True,
            "setup_notes": "n",
        }
    ],
}  # fmt: skip
CHECKS: dict[str, Any] = {
    "id": "a", "suite": "s", "messages": [{"role": "user", "content": "Say 42"}],
    "checks": [{"kind": "contains", "values": ["42"], "ignore_case": True, "negate": False}],
    "category": "c", "tags": ["t"],
}  # fmt: skip
GOOD = {
    "failproof": (FAILPROOF, "jsonl"),
    "promptguard": (PROMPTGUARD, "jsonl"),
    "redteam": (REDTEAM, "json"),
    "benchmark": (BENCHMARK, "yaml"),
    "command": (COMMAND, "toml"),
    "checks": (CHECKS, "jsonl"),
}
FREE = {("prompt_vars", "name")}
"""Keys that are the case's own."""


def keys_of(value: Any, at: Key = ()) -> Iterator[Key]:
    if isinstance(value, dict):
        for name, inside in value.items():
            if (*at, name) not in FREE:
                yield (*at, name)
                yield from keys_of(inside, (*at, name))
    if isinstance(value, list):
        for index, inside in enumerate(value):
            yield from keys_of(inside, (*at, index))


def renamed(value: Any, at: Key, name: str, *, add: bool = False) -> Any:
    """The document with the key at `at` called `name`; with `add` it stands there, too."""
    changed = json.loads(json.dumps(value))
    owner = changed
    for step in at[:-1]:
        owner = owner[step]
    owner[name] = owner[at[-1]]
    if not add:
        del owner[at[-1]]
    return changed


def written(document: Any, suffix: str) -> str:
    if suffix != "toml":
        return json.dumps(document)  # YAML reads it, too
    head = [f"{json.dumps(k)} = {json.dumps(v)}" for k, v in document.items() if not _is_cases(v)]
    for name, cases in document.items():
        if _is_cases(cases):
            for case in cases:
                lines = (f"{json.dumps(k)} = {json.dumps(v)}" for k, v in case.items())
                head += [f"[[{json.dumps(name)}]]", *lines]
    return "\n".join(head) + "\n"


def _is_cases(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, dict) for each in value)


def loaded(name: str, document: Any, folder: Path) -> tuple[list[Case], Problems]:
    suffix = GOOD[name][1]
    file = folder / f"cases.{suffix}"
    file.write_text(written(document, suffix), encoding="utf-8")
    problems = Problems()
    return list(dialect_named(name).load([file], problems)), problems


def slips(name: str) -> Iterator[str]:
    """How people misspell a name."""
    middle = len(name) // 2
    yield name[: middle - 1] + name[middle] + name[middle - 1] + name[middle + 1 :]  # swapped
    yield name[:middle] + name[middle + 1 :]  # left out
    yield name[:middle] + "q" + name[middle:]  # added
    yield name[:middle] + name[middle] + name[middle:]  # doubled
    yield name + "s"
    yield name.replace("_", "-")
    yield name.replace("_", " ")
    yield name.replace("_", "")
    yield name.upper()
    first, *rest = name.split("_")
    yield first + "".join(map(str.title, rest))
    yield "_".join([*rest, first])


KEYS = [(name, key) for name, (document, _) in GOOD.items() for key in keys_of(document)]
SLIPS = [
    pytest.param(name, key, slip, id=f"{name} {'.'.join(map(str, key))} {slip}")
    for name, key in KEYS
    if isinstance(key[-1], str) and len(key[-1]) > 2
    for slip in dict.fromkeys(slips(key[-1]))
    if slip != key[-1] and slip not in {k[-1] for n, k in KEYS if n == name and k[:-1] == key[:-1]}
]


@every("name", GOOD)
def test_a_good_case_has_no_unknown_key(name: str, tmp_path: Path) -> None:
    cases, problems = loaded(name, GOOD[name][0], tmp_path)
    assert len(cases) == 1 and problems.errors == []


@every(("name", "key", "slip"), SLIPS)
def test_a_misspelt_key_is_an_error_that_names_the_key_that_was_meant(
    name: str, key: Key, slip: str, tmp_path: Path
) -> None:
    cases, problems = loaded(name, renamed(GOOD[name][0], key, slip), tmp_path)
    assert cases == [] or key == ("version",), "a dataset's version is in no case"
    hint = f"did you mean `{key[-1]}`?"
    said = [each for each in problems.errors if hint in (each.remedy or "")]
    assert len(said) == 1, list(map(str, problems))
    assert slip in str(said[0].field) and said[0].line is not None


@every(("name", "key"), [(n, k) for n, k in KEYS if isinstance(k[-1], str)])
@every("own", ["author", "priority", "x_", "_"])
def test_a_key_of_ones_own_is_kept_and_listed_once(
    name: str, key: Key, own: str, tmp_path: Path
) -> None:
    own = f"{own}{key[-1]}" if own in ("x_", "_") else own
    document = renamed(GOOD[name][0], key, own, add=True)
    if name == "command" and key[0] == "test_cases" and len(key) > 1:
        document["test_cases"].append({**document["test_cases"][0], "id": "b"})
    cases, problems = loaded(name, document, tmp_path)
    if name == "benchmark" and own in ("author", "priority") and len(key) == 1:
        assert [each.code for each in problems.errors] == ["unknown-field"]
        return  # it may be what the question is about
    assert cases and problems.errors == []
    listed = [each for each in problems.warnings if each.code == "unknown-field"]
    assert len(listed) == 1 and str(listed[0].field).endswith(own)


@every(
    "key",
    ["author", "difficulty", "notes", "category", "severity", "source", "id", "description",
     "expected_label", "prompt_id", "suite_name", "case_notes", "language", "weight", "rationale"],
)  # fmt: skip
def test_a_usual_key_of_ones_own_resembles_none(key: str) -> None:
    assert closest_known_key(key, FAILPROOF, FAILPROOF) is None


def test_the_first_word_of_a_key_stands_for_it_where_the_case_lacks_that() -> None:
    known = ("case_id", "expected_response")
    assert closest_known_key("expected", known, {"case_id", "expected"}) == "expected_response"
    assert (
        closest_known_key("expected", known, {"case_id", "expected_response", "expected"}) is None
    )


@every(
    ("foreign", "known"),
    [("vars", "prompt_vars"), ("variables", "prompt_vars"), ("prompt_variables", "prompt_vars"),
     ("expected_class", "expected_classification"), ("expected_class", "expected_label"),
     ("expected_verdict", "expected_classification"), ("lang", "language")],
)  # fmt: skip
def test_another_tools_name_means_the_key_that_is_missing(foreign: str, known: str) -> None:
    assert known_name(foreign, ("tags", known), {"tags", foreign}) == known
    assert known_name(foreign, ("tags", known), {"tags", known, foreign}) is None
