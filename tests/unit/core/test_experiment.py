"""What makes another experiment and what does not, and which runs overlap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from failproof_es.core import experiment
from failproof_es.core.case import Case, Turn
from failproof_es.core.experiment import RunQuestions, canonical, find_related
from tests.every import every

CASE = Case(
    dialect="failproof", case_id="c-1", suite_id="s", turns=(Turn(role="user", content="What?"),),
    expectation={"expected_response": "that", "within": 1.0}, document={"note": "a"},
)  # fmt: skip
MODEL: dict[str, Any] = {
    "key": "m", "provider": "openai", "model": "m", "version": None,
    "parameters": {"max_tokens": 100, "temperature": 0.0}, "settings": {"base_url": "http://a/v1"},
}  # fmt: skip
JUDGE: dict[str, Any] = {**MODEL, "key": "judge:j", "model": "j"}
STARTED: dict[str, Any] = {
    "name": "smoke", "run_number": 1, "run_id": "r1", "models": [MODEL], "judges": [JUDGE],
    "configuration": {
        "judge": {"structured_output": False}, "judging": {"rule": "majority"},
        "execution": {"repetitions": 1, "retry_delay_ms": 10}, "gates": {"min_accuracy": 0.9},
    },
}  # fmt: skip


def digest(started: dict[str, Any] = STARTED, cases: tuple[Case, ...] = (CASE,)) -> str:
    graded = [experiment.graded_digest(case.model_dump(mode="json")) for case in cases]
    return experiment.experiment_digest(experiment.conditions(started), graded)


def with_(**changes: Any) -> dict[str, Any]:
    return {**STARTED, **changes}


def model(**changes: Any) -> dict[str, Any]:
    return {**MODEL, **changes}


SAME = {
    "another name": with_(name="other"),
    "other execution and gates": with_(
        configuration={"judge": {"structured_output": False}, "execution": {"repetitions": 5}}
    ),
    "another server and key": with_(
        models=[model(settings={"base_url": "http://b/v1", "api_key_env": "K"})]
    ),
    "a key of another name for the model": with_(models=[model(key="openai:m")]),
    "the model twice": with_(models=[MODEL, model(key="m#2")]),
    "another seed": with_(models=[model(parameters={**MODEL["parameters"], "seed": 7})]),
    "a number written otherwise": with_(
        models=[model(parameters={"temperature": 0, "max_tokens": 100.0})]
    ),
    "one judge under another rule": with_(
        configuration={"judge": {}, "judging": {"rule": "unanimous"}}
    ),
}  # fmt: skip


@every("started", SAME.values())
def test_what_does_not_change_what_is_asked_makes_no_other_experiment(
    started: dict[str, Any],
) -> None:
    assert digest(started) == digest()


OTHER = {
    "another model": with_(models=[model(model="n")]),
    "another provider": with_(models=[model(provider="anthropic")]),
    "a model more": with_(models=[MODEL, model(model="n")]),
    "another version": with_(models=[model(version="2")]),
    "another parameter": with_(models=[model(parameters={"max_tokens": 5, "temperature": 0.0})]),
    "another judge": with_(judges=[{**JUDGE, "model": "k"}]),
    "no judge": with_(judges=[]),
    "a judge held to a form": with_(configuration={"judge": {"structured_output": True}}),
}


@every("started", OTHER.values())
def test_what_changes_what_is_asked_of_whom_makes_another_experiment(
    started: dict[str, Any],
) -> None:
    assert digest(started) != digest()


def test_the_rule_of_several_judges_is_part_of_the_experiment() -> None:
    two = [JUDGE, {**JUDGE, "model": "k"}]
    unanimous = {"judging": {"rule": "unanimous"}}
    assert digest(with_(judges=two)) != digest(with_(judges=two, configuration=unanimous))
    assert digest(with_(judges=two)) == digest(with_(judges=two[::-1]))


@every(
    ("changes", "same"),
    [
        ({"case_id": "c-2"}, True),
        ({"suite_id": "copied-elsewhere"}, True),
        ({"source": "copied 2.0"}, True),
        ({"tags": ("t",)}, True),
        ({"severity": "S0"}, True),
        ({"document": {"note": "another"}}, True),
        ({"expectation": {"expected_response": "that", "within": 1}}, True),
        ({"expectation": {"expected_response": ".*"}}, False),
        ({"category": "safety"}, False),
        ({"dialect": "benchmark"}, False),
        ({"turns": (Turn(role="user", content="What now?"),)}, False),
    ],
)
def test_a_case_is_what_is_sent_and_what_grades_the_answer(
    changes: dict[str, Any], same: bool
) -> None:
    other = CASE.model_copy(update=changes)
    assert (digest(cases=(other,)) == digest()) is same


def test_order_and_repeated_cases_make_no_other_experiment() -> None:
    other = CASE.model_copy(update={"turns": (Turn(role="user", content="Why?"),)})
    assert digest(cases=(CASE, other)) == digest(cases=(other, CASE, other))
    assert digest(cases=(CASE, other)) != digest()


def test_weights_and_classes_are_known_whatever_they_are_called() -> None:
    local = model(provider="local", model="a.gguf", settings={"weights_sha256": "b1"})
    copied = model(provider="local", model="/copied/b.gguf", settings={"weights_sha256": "b1"})
    assert digest(with_(models=[local])) == digest(with_(models=[copied]))
    own = model(provider="python", model="one", settings={"class": "mine:Model"})
    renamed = model(provider="python", model="two", settings={"class": "mine:Model"})
    assert digest(with_(models=[own])) == digest(with_(models=[renamed]))
    misplaced = model(settings={"class": "no:Matter", "weights_sha256": "no matter"})
    assert digest(with_(models=[misplaced])) == digest()


def test_numbers_have_one_form() -> None:
    value = {"b": [1.0, 1.5, float("nan"), True, None], "a": "\u00e9"}
    assert canonical(value) == b'{"a":"\\u00e9","b":[1,1.5,null,true,null]}'


# -- attempts and overlapping runs ----------------------------------------------------------------


def run(
    number: int, sent: str, *, digest: str = "e", models: Sequence[Any] = (MODEL,)
) -> RunQuestions:
    """A run that sends letters."""
    questions = frozenset(sent)
    started = with_(
        run_number=number, run_id=f"r{number}", models=models,
        experiment={"digest": digest, "questions": "".join(sorted(questions))},
    )  # fmt: skip
    return RunQuestions.of(started, lambda: questions)


def numbers(own: RunQuestions, *others: RunQuestions) -> tuple[list[int], dict[int, int]]:
    found = find_related(own, [own, *others])
    return (
        [each.number for each in found.attempts],
        {each.run.number: each.shared for each in found.overlapping},
    )


def test_attempts_are_the_runs_of_one_experiment() -> None:
    own, first, later = run(3, "abc"), run(1, "abc"), run(4, "abc")
    assert numbers(own, later, first) == ([1, 3, 4], {})


@every(
    ("theirs", "shared"),
    [("abcd", 4), ("abc", 3), ("abxy", 2), ("axyz", 0), ("a", 1), ("ax", 1), ("abcdefghijk", 4)],
)
def test_runs_overlap_that_share_half_of_the_cases_of_the_smaller_one(
    theirs: str, shared: int
) -> None:
    own, other = run(2, "abcd"), run(1, theirs, digest="f")
    assert numbers(own, other) == ([2], {1: shared} if shared else {})


def test_a_run_of_other_models_does_not_overlap() -> None:
    own = run(2, "abc")
    assert numbers(own, run(1, "abc", digest="f", models=[model(model="n")])) == ([2], {})
    both = [model(model="n"), model(version="9", parameters={})]
    assert numbers(own, run(1, "abc", digest="f", models=both)) == ([2], {1: 3})


def test_a_first_event_that_does_not_say_what_it_asked_is_refused() -> None:
    broken: list[dict[str, Any]] = [
        {"models": None}, {"models": ["m"]}, {"run_number": "1"}, {"experiment": None},
        {"experiment": {"digest": "d"}}, {"experiment": {"digest": 1, "questions": 1}},
        {"run_id": None},
    ]  # fmt: skip
    for changes in broken:
        with pytest.raises(ValueError, match="it asked"):
            RunQuestions.of(with_(**changes), frozenset)
