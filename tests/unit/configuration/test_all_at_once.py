"""Whatever is wrong with a configuration is told at once, not after something else was mended."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext, suppress
from copy import deepcopy
from functools import cache, partial
from pathlib import Path
from typing import Any

import click
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from failproof_es.cli.app.program import Session
from failproof_es.cli.starting.all_problems import choose_and_permit, load_or_report_all
from failproof_es.configuration.loading import load_configuration
from failproof_es.configuration.schema import Configuration, Model, Section
from failproof_es.engine.drive.targets import Targets
from failproof_es.engine.planning import sources
from failproof_es.engine.preflight.checks import check as check_run
from failproof_es.engine.related_runs import baseline_gates
from failproof_es.engine.replays import reuse
from failproof_es.problems import InvalidInput
from failproof_es.reading import cases_by_result
from tests.every import every
from tests.examples import examples, stride

GOOD: dict[str, Any] = {
    "test_run": {"name": "My first test"},
    "models": [
        {"provider": "openai", "base_url": "http://127.0.0.1:1/v1", "model": "one"},
        {"provider": "openai", "base_url": "http://127.0.0.1:1/v1", "model": "two"},
    ],
    "judge": {"provider": "openai", "base_url": "http://127.0.0.1:1/v1", "model": "three"},
    "prompts": {"path": "suite.jsonl", "dialect": "failproof"},
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
    "selection": {},
}


def put(*path: str | int, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(document: dict[str, Any]) -> None:
        at: Any = document
        for step in path[:-1]:
            at = at[step]
        at[path[-1]] = deepcopy(value)

    return change


def take(*path: str | int) -> Callable[[dict[str, Any]], None]:
    def change(document: dict[str, Any]) -> None:
        at: Any = document
        for step in path[:-1]:
            at = at[step]
        del at[path[-1]]

    return change


TIER = GOOD["prices"]["models"][0]["tiers"][0]
CASE = {"case_id": "a", "suite_id": "a", "prompt": "hello"}
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
OF_OTHER_CHECKS: dict[str, tuple[Callable[[dict[str, Any]], None], str]] = {
    "an unknown dialect": (put("prompts", "dialect", value="failprof"), "prompts.dialect"),
    "an unknown scorer": (put("grading", value={"scorers": ["bleu"]}), "grading.scorers[0]"),
    "a path that is not there": (put("prompts", "path", value="absent.jsonl"), "prompts.path"),
    "a key that is not set": (
        put("models", 0, "api_key_env", value="NOT_SET_HERE"), "models[0].api_key_env",
    ),
    "a key that must not go there": (
        put("models", 0, "headers", value={"X": "GITHUB_TOKEN"}), "models[0].headers",
    ),
    "an unknown gate": (put("gates", "min_acuracy", value=0.9), "gates.min_acuracy"),
    "a baseline that is not there": (
        put("gates", "no_regression_against", value=99), "gates.no_regression_against",
    ),
    "people and a baseline": (
        lambda document: document["gates"].update(by="people", no_regression_against="latest"),
        "gates.by",
    ),
    "failures of no run": (put("selection", "only", value=["failed:99"]), "selection.only"),
    "answers of no run": (put("reuse", value={"from_run": 99}), "reuse.from_run"),
    "no collection": (
        put("prompts", value={"source": "database", "collection": "none"}), "prompts.collection",
    ),
    "a ceiling without a price": (
        put("execution", "max_spend_usd", value=1.0), "models[1].model",
    ),
    "an option of no dialect": (
        put("prompts", "options", value={"zzz": 1}), "prompts.options",
    ),
    "a tag of no case": (put("prompts", "filters", value={"tags": ["x"]}), "prompts.filters.tags"),
}  # fmt: skip
"""What the schema and the rules of a configuration do not find."""
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
    "a model that is none": {"variants", "a model that is not"},
    "a model without a name": {"variants", "a model that is not"},
    "no run": {"an id"},
    "a name that is none": set(),
    "no prompts": {"a collection"},
    "a judge that is none": {"a judge"},
    "a price that is none": {"two tiers", "prices without", "a file of prices"},
}
"""What cannot be told beside a defect: it is about what that defect is about."""


_CEILING = "a ceiling without a price"
_KEYS = {"a key that is not set", "a key that must not go there"}
HIDDEN: dict[str, set[str]] = {
    "a tag of no case": {"an unknown dialect", "no collection", "an option of no dialect"},
    "a path that is not there": {"a tag of no case", "no collection"},
    "an unknown dialect": {"no collection"},
    "an option of no dialect": {"an unknown dialect", "no collection"},
    "no prompts": {"no collection"},
    "a collection beside a file": {"a tag of no case", "no collection"},
    "a model without a URL": _KEYS,
    "a model that is not there": {*_KEYS, _CEILING},
    "a baseline that is not there": {"people and a baseline"},
    **{
        name: {_CEILING}
        for name in (
            *("a model that is none", "a model without a name", "no models"),
            *("a judge that is none", "a judge without a URL", "a price that is none"),
            *("prices without a day", "two tiers alike", "a file of prices"),
        )
    },
}
"""What depends on the wrong value, or changes the same one."""


Check = Callable[[Path], object]


def refuse_run(*_: object, **__: object) -> None:
    raise InvalidInput.because("unknown-run", "there is no such run")


@pytest.fixture(autouse=True, scope="module")
def no_run_exists(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Every check sees a log without runs and collections, and no permission of the user's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FAILPROOF_ES_HOME", str(tmp_path_factory.mktemp("home")))
        patch.setenv("GITHUB_TOKEN", "a token")
        for module in (baseline_gates, cases_by_result, reuse):
            patch.setattr(module, "resolve_run", refuse_run)
        patch.setattr(sources, "collection_dialect", refuse_run)
        patch.setattr(Session, "open_store", lambda session: Log())
        yield


class Log:
    """Where a store is expected; every reader of it is replaced."""

    def lend(self) -> AbstractContextManager[None]:
        return nullcontext()

    __enter__ = lambda self: self  # noqa: E731
    __exit__ = lambda self, *_: None  # noqa: E731


def check_all(file: Path) -> None:
    """What `validate --offline` checks."""
    log: Any = Log()
    with click.Context(click.Command("validate"), obj=Session()):
        loaded = load_or_report_all(file, (), ())
        loaded, permissions = choose_and_permit(loaded, log, ())
    targets = Targets(loaded.configuration, permissions)
    asyncio.run(check_run(loaded, log, targets, offline=True, run_classes=False))


def fields_of(
    folder: Path, *changes: Callable[[dict[str, Any]], None], check: Check = load_configuration
) -> list[str]:
    """The fields of all problems that `check` finds in the good configuration with these
    changes."""
    document = deepcopy(GOOD)
    for change in changes:
        try:
            change(document)
        except (AttributeError, LookupError, TypeError):
            pytest.skip("what one changes is not there")
    file = folder / "run.yaml"
    file.write_bytes(orjson.dumps(document))
    (folder / "suite.jsonl").write_bytes(orjson.dumps(CASE))
    try:
        check(file)
    except InvalidInput as error:
        assert len({str(each) for each in error.problems}) == len(error.problems), "told twice"
        return [each.field or "" for each in error.problems]
    return []


def test_the_good_configuration_has_no_problem(tmp_path: Path) -> None:
    assert fields_of(tmp_path, check=check_all) == []


FieldsAlone = Callable[[Callable[[dict[str, Any]], None], Check], list[str]]


@pytest.fixture(scope="module")
def fields_alone(tmp_path_factory: pytest.TempPathFactory) -> FieldsAlone:
    """`fields_of` of one change, read once for all its pairs."""
    folder = tmp_path_factory.mktemp("alone")
    return cache(lambda change, check: fields_of(folder, change, check=check))


@pytest.mark.thinned(fast=60, whole=80)
@pytest.mark.parametrize("of_several", OF_SEVERAL)
@pytest.mark.parametrize("of_one", OF_ONE_VALUE)
def test_a_rule_between_values_is_told_beside_a_wrong_value(
    of_one: str,
    of_several: str,
    tmp_path: Path,
    fields_alone: FieldsAlone,
) -> None:
    change, field = OF_SEVERAL[of_several]
    alone = fields_alone(change, load_configuration)
    assert [each for each in alone if each.startswith(field)], "it is a defect"
    if any(of_several.startswith(other) for other in BESIDE.get(of_one, ())):
        return
    wrong = fields_alone(OF_ONE_VALUE[of_one], load_configuration)
    assert wrong
    together = fields_of(tmp_path, change, OF_ONE_VALUE[of_one])
    assert {*alone, *wrong} <= {*together}
    assert len(together) == len(alone) + len(wrong), "and nothing that follows from the other"


EVERY = {
    **OF_ONE_VALUE,
    **{name: change for name, (change, _) in (OF_SEVERAL | OF_OTHER_CHECKS).items()},
}
PAIRS = [
    (one, other)
    for other in OF_OTHER_CHECKS
    for one in EVERY
    if (one not in OF_OTHER_CHECKS or one < other) and other not in HIDDEN.get(one, ())
]


@pytest.mark.long
@every("one, other", PAIRS[:: stride(4)])
def test_checks_after_the_schema_report_beside_any_problem(
    one: str, other: str, tmp_path: Path, fields_alone: FieldsAlone
) -> None:
    alone = [*fields_alone(EVERY[one], check_all), *fields_alone(EVERY[other], check_all)]
    with suppress(pytest.skip.Exception):
        together = fields_of(tmp_path, EVERY[one], EVERY[other], check=check_all)
        assert sorted(together) == sorted(alone)


@pytest.mark.long
def test_every_check_reports_in_one_batch(tmp_path: Path) -> None:
    together = [
        "below its bound", "unknown section", "a matrix too large", "a template", "an unknown gate",
        "an unknown dialect", "an unknown scorer", "a path that is not there",
        "a key that is not set", "a key that must not go there", "people and a baseline",
        "failures of no run", "answers of no run", "a ceiling without a price",
    ]  # fmt: skip
    fields = partial(fields_of, tmp_path, check=check_all)
    expected = {field for name in together for field in fields(EVERY[name])}
    assert {*fields(*(EVERY[name] for name in together))} == expected


def test_a_missing_judge_reports_beside_a_missing_path(tmp_path: Path) -> None:
    absent = put("prompts", value={"path": "absent.jsonl", "dialect": "benchmark"})
    assert fields_of(tmp_path, absent, take("judge"), check=check_all) == ["prompts.path", "judge"]


several = st.lists(st.sampled_from(sorted(OF_SEVERAL)), unique=True, max_size=5)
single = st.lists(st.sampled_from(["a number as text", "below its bound", "unknown section"]))


@pytest.mark.slow
@settings(max_examples=examples(3), deadline=None)
@given(several, single)
def test_many_defects_are_told_together(
    tmp_path_factory: pytest.TempPathFactory,
    fields_alone: FieldsAlone,
    rules: list[str],
    values: list[str],
) -> None:
    folder = tmp_path_factory.mktemp("many")
    kept = [*dict.fromkeys(OF_SEVERAL[name][1].split(".")[0] for name in rules)]
    chosen = [next(name for name in rules if OF_SEVERAL[name][1].startswith(k)) for k in kept]
    changes = [OF_SEVERAL[name][0] for name in chosen]
    changes += [OF_ONE_VALUE[name] for name in dict.fromkeys(values)]
    expected = {field for change in changes for field in fields_alone(change, load_configuration)}
    if any(field.startswith("models") for field in expected):  # no variants of what is wrong
        expected = {field for field in expected if not field.startswith("matrix")}
    assert {*fields_of(folder, *changes)} >= expected


@pytest.mark.long
@every("value", [{"a": 1}, [{"a": 1}], "lots", 2.5, True])
def test_every_value_of_a_wrong_type_has_a_remedy(tmp_path: Path, value: object) -> None:
    document: dict[str, Any] = deepcopy(GOOD)
    for name, field in Configuration.model_fields.items():
        if isinstance(section := field.annotation, type) and issubclass(section, Section):
            document[name] = dict.fromkeys(section.model_fields, value)
    document["models"] = [dict.fromkeys(Model.model_fields, value)]
    document["judge"] = value
    file = tmp_path / "run.yaml"
    file.write_bytes(orjson.dumps(document))
    with pytest.raises(InvalidInput) as refused:
        load_configuration(file)
    wrong = [problem for problem in refused.value.problems if problem.code == "wrong-type"]
    assert len(wrong) > 20
    assert [str(problem) for problem in wrong if problem.remedy is None] == []
