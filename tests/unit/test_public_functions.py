"""Public functions for programs refuse one text instead of a list, and numbers beyond JSON."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from failproof_es.abstraction.opened import open_benchmark
from failproof_es.library.evaluating import load
from failproof_es.models.trust.permissions import permissions_of
from failproof_es.models.trust.remembered import permissions_here
from failproof_es.problems import InvalidInput
from tests.every import every

CONFIGURATION = {
    "test_run": {"name": "t"},
    "models": [{"provider": "openai", "base_url": "http://127.0.0.1:9/v1", "model": "m"}],
    "prompts": {"path": "x"},
}


def opened(allow: Any) -> None:
    with open_benchmark("shipped:quickstart", allow=allow):
        raise AssertionError("it opens")


TAKES_LIST: dict[str, tuple[Callable[[Any], object], str]] = {
    "allow": (permissions_of, "MY_KEY=models.example"),
    "allow_class": (lambda wrong: permissions_of((), wrong), "package.module:Name"),
    "allow of a run": (lambda wrong: permissions_here(wrong, own=True), "MY_KEY=models.example"),
    "allow of a benchmark": (opened, "MY_KEY=models.example"),
    "settings": (lambda wrong: load(CONFIGURATION, wrong), "execution.parallel_workers=8"),
}


@every("wrong", ["A=b", b"A=b", {"A": "b"}, None, 7, ["A=b", 7]])
@every("which", TAKES_LIST)
def test_what_is_no_list_of_texts_is_one_error_that_says_what_to_write(
    which: str, wrong: Any
) -> None:
    take, example = TAKES_LIST[which]
    with pytest.raises(InvalidInput) as refused:
        take(wrong)
    [problem] = refused.value.problems
    assert problem.field == which.split()[0]
    assert problem.message.endswith("is no list of texts")
    assert problem.remedy == f'write {problem.field}=["{example}"]'


@every("number", [math.nan, math.inf, -math.inf])
def test_a_number_that_json_cannot_hold_removes_no_gate_and_no_limit(number: float) -> None:
    parts = {
        "gates": {"min_accuracy": number, "min_accuracy_by_suite": {"s": number}},
        "execution": {"max_spend_usd": number},
        "prompts": {"path": "x", "options": {"shares": (0.5, number)}},
    }
    with pytest.raises(InvalidInput) as refused:
        load({**CONFIGURATION, **parts})
    assert {(problem.code, problem.field) for problem in refused.value.problems} == {
        ("not-storable", "gates.min_accuracy"),
        ("not-storable", "gates.min_accuracy_by_suite.s"),
        ("not-storable", "execution.max_spend_usd"),
        ("not-storable", "prompts.options.shares[1]"),
    }


@every("kind", [list, tuple])
def test_a_list_or_a_tuple_is_taken(kind: Callable[[list[str]], Any]) -> None:
    permissions = permissions_of(kind(["A=b", "C=d"]), kind(["m:N"]))
    assert len(permissions.pairs) == 2 and permissions.classes == {"m:N"}
    load(CONFIGURATION, kind(["execution.parallel_workers=8"]))
