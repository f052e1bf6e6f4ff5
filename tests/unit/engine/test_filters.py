"""Which cases a run takes of those that it was given: `prompts.filters`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from failproof_es.configuration.loading import load_configuration
from failproof_es.core.case import Case
from failproof_es.engine.planning.sources import source_of
from failproof_es.problems import InvalidInput

CASES = {
    "a": {"category": "Grounding", "tags": ["slow", "de"]},
    "b": {"category": "Grounding", "tags": ["slow"]},
    "c": {"category": "ToolUse", "tags": ["de", "fr"]},
    "d": {"category": "ToolUse", "tags": []},
}


def red_team_case(name: str, case: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": name, "title": name, "severity_expectation": "S1", **case,
        "turns": [{"role": "user", "content": f"Question {name}"}],
        "expected_behavior": {"must_do": ["Answers."], "must_not_do": [], "pass_criteria": []},
    }  # fmt: skip


def failproof_case(name: str, case: dict[str, Any]) -> dict[str, Any]:
    return {"case_id": name, "suite_id": "s", "prompt": f"Question {name}", "tags": case["tags"]}


Written = Callable[[str, dict[str, Any]], dict[str, Any]]


def source(folder: Path, written: Written = red_team_case, /, **filters: list[str]) -> Any:
    """What a configuration with these filters runs."""
    cases = [written(name, case) for name, case in CASES.items()]
    (folder / "cases.jsonl").write_bytes(b"\n".join(map(orjson.dumps, cases)))
    model = {"provider": "openai", "base_url": "http://127.0.0.1:9/v1", "model": "m"}
    configuration = {
        "test_run": {"name": "filtered"}, "models": [model], "judge": model,
        "prompts": {"path": str(folder / "cases.jsonl"), "filters": filters},
    }  # fmt: skip
    (folder / "run.yaml").write_bytes(orjson.dumps(configuration))
    nowhere: Any = None
    return source_of(load_configuration(folder / "run.yaml"), nowhere)


@pytest.mark.parametrize(
    ("filters", "left"),
    [
        ({}, "abcd"),
        ({"category": ["ToolUse"]}, "cd"),
        ({"tags": ["slow"]}, "ab"),
        ({"tags": ["fr", "slow"]}, "abc"),
        ({"category": ["Grounding"], "tags": ["de"]}, "a"),
    ],
)
def test_a_case_needs_one_of_the_values_of_every_filter(
    tmp_path: Path, filters: dict[str, list[str]], left: str
) -> None:
    chosen = source(tmp_path, **filters)
    cases: list[Case] = []
    found = chosen.read(cases.append).findings
    said = [problem.describe() for problem in found]  # as asked: no warning
    assert said == ([f"prompts.filters: {len(left)} of 4 cases are asked"] if filters else [])
    assert "".join(case.case_id for case in cases) == left


@pytest.mark.parametrize(("tags", "warnings"), [(["slow"], ["case a"]), (["fr"], [])])
def test_only_a_case_that_is_asked_is_warned_of_for_its_key(
    tmp_path: Path, tags: list[str], warnings: list[str]
) -> None:
    def with_key(name: str, case: dict[str, Any]) -> dict[str, Any]:
        prompt = "Is sk-proj-" + "Ab3" * 16 + " a key?" if name == "a" else name
        return {**failproof_case(name, case), "prompt": prompt}

    findings = source(tmp_path, with_key, tags=tags).read(lambda case: None).findings
    fields = [problem.field for problem in findings if problem.code == "key-exposed"]
    assert fields == warnings


@pytest.mark.parametrize(("tags", "left"), [(["slow"], "ab"), (["fr"], "c"), (["fr", "de"], "ac")])
def test_a_failproof_case_is_chosen_by_its_tags_and_keeps_them(
    tmp_path: Path, tags: list[str], left: str
) -> None:
    chosen = source(tmp_path, failproof_case, tags=tags)
    cases: list[Case] = []
    chosen.read(cases.append)
    assert "".join(case.case_id for case in cases) == left
    assert [list(case.tags) for case in cases] == [CASES[name]["tags"] for name in left]


@pytest.mark.parametrize(
    ("filters", "said"),
    [
        ({"tags": ["slwo"]}, "prompts.filters.tags: no case has tags 'slwo' (there are: de, fr, "),
        ({"expected_label": ["x"]}, "no case has expected_label 'x'"),
        ({"category": ["ToolUse"], "tags": ["slow"]}, "none of 4 cases matches all filters"),
    ],
)
def test_a_value_that_no_case_has_is_an_error_that_says_what_there_is(
    tmp_path: Path, filters: dict[str, list[str]], said: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        source(tmp_path, **filters).read(lambda case: None)
    assert said in str(caught.value)
