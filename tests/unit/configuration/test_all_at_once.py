"""Whatever is wrong with a configuration is told at once, not after something else was mended."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from failproof_es.configuration.loading import load_configuration
from failproof_es.problems import InvalidInput
from tests.examples import examples

GOOD: dict[str, Any] = {
    "test_run": {"name": "My first test"},
    "models": [
        {"provider": "openai", "base_url": "http://127.0.0.1:1/v1", "model": "one"},
        {"provider": "openai", "base_url": "http://127.0.0.1:1/v1", "model": "two"},
    ],
    "judge": {"provider": "openai", "base_url": "http://127.0.0.1:1/v1", "model": "three"},
    "prompts": {"path": "suite.jsonl"},
    "prices": {
        "version": "2026-11-28",
        "models": [
            {
                "model": "one",
                "input_usd_per_million": 1.0,
                "output_usd_per_million": 1.0,
                "tiers": [
                    {
                        "over_input_tokens": 10,
                        "input_usd_per_million": 1.0,
                        "output_usd_per_million": 1.0,
                    },
                ],
            }
        ],
    },
    "execution": {},
    "output": {"file": {}},
    "gates": {},
}


def put(*path: str | int, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(document: dict[str, Any]) -> None:
        at: Any = document
        for step in path[:-1]:
            at = at[step]
        at[path[-1]] = value

    return change


def take(*path: str | int) -> Callable[[dict[str, Any]], None]:
    def change(document: dict[str, Any]) -> None:
        at: Any = document
        for step in path[:-1]:
            at = at[step]
        del at[path[-1]]

    return change


TIER = GOOD["prices"]["models"][0]["tiers"][0]
OF_ONE_VALUE: dict[str, Callable[[dict[str, Any]], None]] = {
    "a number as text": put("execution", "parallel_workers", value="many"),
    "below its bound": put("execution", "retry_attempts", value=-1),
    "unknown key": put("execution", "paralel_workers", value=3),
    "unknown section": put("outputs", value={}),
    "a text as a flag": put("models", 1, "stream", value="perhaps"),
    "a model that is none": put("models", 1, value="two"),
    "a model without a name": take("models", 1, "model"),
    "no models": take("models"),
    "no run": take("test_run"),
    "no prompts": take("prompts"),
    "a name that is none": put("test_run", "name", value=["x"]),
    "a judge that is none": put("judge", value=3),
    "a price that is none": put("prices", "models", 0, "input_usd_per_million", value="cheap"),
    "a gate that is none": put("gates", "min_accuracy", value=7),
}
OF_SEVERAL: dict[str, tuple[Callable[[dict[str, Any]], None], str]] = {
    "a file without a time": (
        put("output", "file", "path", value="./results.jsonl"), "output.file.path",
    ),
    "a placeholder": (
        put("output", "file", "path", value="{timestamp}_{user}.jsonl"), "output.file.path",
    ),
    "an id that is a number": (put("test_run", "id", value="7"), "test_run.id"),
    "a model without a URL": (take("models", 0, "base_url"), "models[0].base_url"),
    "a seed as parameter": (put("models", 0, "parameters", value={"seed": 3}), "models[0]"),
    "a judge without a URL": (take("judge", "base_url"), "judge.base_url"),
    "a collection beside a file": (put("prompts", "collection", value="c"), "prompts.collection"),
    "prices without a day": (take("prices", "version"), "prices.version"),
    "two tiers alike": (put("prices", "models", 0, "tiers", value=[TIER, TIER]), "prices.models"),
    "a file of prices": (put("prices", "file", value="absent.yaml"), "prices"),
    "a variable": (put("models", 0, "backend", value="${BACKEND}"), "models[0].backend"),
    "a model that is not there": (put("selection", value={"models": ["x"]}), "selection.models"),
    "a template": (
        put("models", 0, "prompt_template", value={"user": "no prompt"}), "models[0].prompt_templ",
    ),
    "a matrix of what is no parameter": (
        put("matrix", value={"parameters": {"base_url": ["a", "b"]}}), "matrix.parameters.base_url",
    ),
    "a matrix too large": (
        put("matrix", value={"most": 1, "parameters": {"top_k": [1, 2]}}), "matrix",
    ),
    "variants that no provider takes": (
        put("matrix", value={"parameters": {"temperature": [5.0, 1.0]}}), "matrix",
    ),
}  # fmt: skip
BESIDE: dict[str, set[str]] = {
    "no models": {"a model", "a seed", "a variable", "a template", "variants", "a matrix too"},
    "a model that is none": {"a matrix too", "variants", "a model that is not"},
    "a model without a name": {"a matrix too", "variants", "a model that is not"},
    "no run": {"an id"},
    "a name that is none": set(),
    "no prompts": {"a collection"},
    "a judge that is none": {"a judge"},
    "a price that is none": {"two tiers", "prices without", "a file of prices"},
}
"""What cannot be told beside a defect: it is about what that defect is about."""


def fields_of(folder: Path, *changes: Callable[[dict[str, Any]], None]) -> list[str]:
    """The fields of all problems of the good configuration with these changes."""
    document = deepcopy(GOOD)
    for change in changes:
        try:
            change(document)
        except (LookupError, TypeError):
            pytest.skip("what one changes is not there")
    file = folder / "run.yaml"
    file.write_bytes(orjson.dumps(document))
    try:
        load_configuration(file)
    except InvalidInput as error:
        assert len({str(each) for each in error.problems}) == len(error.problems), "told twice"
        return [each.field or "" for each in error.problems]
    return []


def test_the_good_configuration_has_no_problem(tmp_path: Path) -> None:
    assert fields_of(tmp_path) == []


@pytest.fixture(scope="module")
def fields_alone(
    tmp_path_factory: pytest.TempPathFactory,
) -> Callable[[Callable[[dict[str, Any]], None]], list[str]]:
    """`fields_of` of one change, read once for all its pairs."""
    folder = tmp_path_factory.mktemp("alone")
    return cache(lambda change: fields_of(folder, change))


@pytest.mark.thinned(fast=60, whole=80)
@pytest.mark.parametrize("of_several", OF_SEVERAL)
@pytest.mark.parametrize("of_one", OF_ONE_VALUE)
def test_a_rule_between_values_is_told_beside_a_wrong_value(
    of_one: str,
    of_several: str,
    tmp_path: Path,
    fields_alone: Callable[[Callable[[dict[str, Any]], None]], list[str]],
) -> None:
    change, field = OF_SEVERAL[of_several]
    alone = fields_alone(change)
    assert [each for each in alone if each.startswith(field)], "it is a defect"
    if any(of_several.startswith(other) for other in BESIDE.get(of_one, ())):
        return
    wrong = fields_alone(OF_ONE_VALUE[of_one])
    assert wrong
    together = fields_of(tmp_path, change, OF_ONE_VALUE[of_one])
    assert {*alone, *wrong} <= {*together}
    assert len(together) == len(alone) + len(wrong), "and nothing that follows from the other"


several = st.lists(st.sampled_from(sorted(OF_SEVERAL)), unique=True, max_size=5)
single = st.lists(st.sampled_from(["a number as text", "below its bound", "unknown section"]))


@pytest.mark.slow
@settings(max_examples=examples(3), deadline=None)
@given(several, single)
def test_many_defects_are_told_together(
    tmp_path_factory: pytest.TempPathFactory, rules: list[str], values: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("many")
    kept = [*dict.fromkeys(OF_SEVERAL[name][1].split(".")[0] for name in rules)]
    chosen = [next(name for name in rules if OF_SEVERAL[name][1].startswith(k)) for k in kept]
    changes = [OF_SEVERAL[name][0] for name in chosen]
    changes += [OF_ONE_VALUE[name] for name in dict.fromkeys(values)]
    expected = {field for change in changes for field in fields_of(folder, change)}
    if any(field.startswith("models") for field in expected):  # no variants of what is wrong
        expected = {field for field in expected if not field.startswith("matrix")}
    assert {*fields_of(folder, *changes)} >= expected
