"""Which part of its cases a run asks: `selection`."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import orjson
import pytest

from failproof_es.configuration.choices import SelectionSection
from failproof_es.configuration.loading import LoadedConfiguration, load_configuration
from failproof_es.core.case import Case
from failproof_es.core.selection import (
    RESULT_KINDS,
    describe_cases,
    describe_part,
    describe_recorded_part,
)
from failproof_es.engine.planning.planner import SourceReading
from failproof_es.engine.planning.selection import rank
from failproof_es.engine.planning.sources import source_of
from failproof_es.events import Selection, SuiteSnapshot
from failproof_es.models import model_keys
from failproof_es.problems import InvalidInput
from failproof_es.reading import cases_by_result
from failproof_es.reading.recorded_run import RecordedRun
from failproof_es.reading.result_conditions import CHOICES, Conditions
from tests.coded import coded
from tests.every import every

MODEL = {"provider": "openai", "base_url": "http://127.0.0.1:9/v1", "model": "m"}


def case(n: int) -> dict[str, Any]:
    return {
        "case_id": f"case-{n:03}", "suite_id": "even" if n % 2 == 0 else "odd",
        "prompt": f"Question {n}", "tags": ["slow"] if n % 3 == 0 else [],
    }  # fmt: skip


def write(folder: Path, cases: list[dict[str, Any]], files: int = 1, **sections: Any) -> Path:
    for at in range(files):
        part = cases[at::files]
        (folder / f"cases{at}.jsonl").write_bytes(b"\n".join(map(orjson.dumps, part)) + b"\n")
    configuration = {
        "test_run": {"name": "selected"}, "models": [MODEL],
        "prompts": {"path": [str(folder / f"cases{at}.jsonl") for at in range(files)]}, **sections,
    }  # fmt: skip
    (folder / "run.yaml").write_bytes(orjson.dumps(configuration))
    return folder / "run.yaml"


def read(loaded: LoadedConfiguration) -> tuple[list[str], SourceReading]:
    nowhere: Any = None
    cases: list[Case] = []
    reading = source_of(loaded, nowhere).read(cases.append)
    return [each.case_id for each in cases], reading


def chosen(folder: Path, cases: int = 12, files: int = 1, /, **selection: Any) -> list[str]:
    listed = [case(n) for n in range(cases)]
    found, _ = read(load_configuration(write(folder, listed, files, selection=selection)))
    return found


@pytest.mark.parametrize(
    ("selection", "left"),
    [
        ({}, range(12)),
        ({"limit": 1}, [0]),
        ({"limit": 12}, range(12)),
        ({"limit": 2**63 - 1}, range(12)),
        ({"only": ["tag:slow"]}, [0, 3, 6, 9]),
        ({"only": ["id:case-00?"]}, range(10)),
        ({"only": ["id:case-001", "id:case-00[23]"]}, [1, 2, 3]),
        ({"only": ["tag:slow", "suite:odd"]}, [3, 9]),
        ({"exclude": ["suite:o*"]}, [0, 2, 4, 6, 8, 10]),
        ({"only": ["suite:even"], "exclude": ["tag:slow"], "limit": 3}, [2, 4, 8]),
    ],
)
def test_patterns_choose_and_a_limit_takes_the_first_of_those(
    tmp_path: Path, selection: dict[str, Any], left: Any
) -> None:
    assert chosen(tmp_path, **selection) == [f"case-{n:03}" for n in left]


ODD_FAILED = {("odd", f"case-{n:03}") for n in (1, 3)} | {("gone", "case-002")}
RESULTS = {"failed:7": ODD_FAILED, "errors:7": {("even", "case-004")}, "unscored:2": set()}


@pytest.mark.parametrize(
    ("selection", "left", "part"),
    [
        ({"only": ["failed:7"]}, [1, 3], "2 of 6 cases: only failed:7; chosen by their scores"),
        (
            {"only": ["failed:7", "errors:7"]},
            [1, 3, 4],
            "3 of 6 cases: only failed:7 errors:7; chosen",
        ),
        ({"only": ["failed:7", "tag:slow"]}, [3], "1 of 6 cases: only failed:7 tag:slow; chosen"),
        ({"only": ["errors:7"]}, [4], "1 of 6 cases: only errors:7"),
        ({"exclude": ["errors:7"]}, [0, 1, 2, 3, 5], "5 of 6 cases: without errors:7; chosen by"),
    ],
)
def test_cases_are_chosen_by_their_results_in_a_run_and_who_chose_by_scores_says_so(
    tmp_path: Path, selection: dict[str, Any], left: list[int], part: str
) -> None:
    listed = [case(n) for n in range(6)]
    loaded = load_configuration(write(tmp_path, listed, selection=selection))
    found, reading = read(replace(loaded, cases_by_result=RESULTS))
    assert found == [f"case-{n:03}" for n in left]
    assert reading.selected is not None
    words = describe_part(reading.selected, len(found), 1)
    assert words.startswith(part) and ("measurement" in words) == ("; chosen" in part)


def test_results_that_name_no_case_of_these_suites_are_refused(tmp_path: Path) -> None:
    write(tmp_path, [case(2)], selection={"only": ["failed:7", "unscored:2"]})
    with pytest.raises(InvalidInput) as refused:
        read(replace(load_configuration(tmp_path / "run.yaml"), cases_by_result=RESULTS))
    told = "\n".join(map(str, refused.value.problems))
    assert "no case matches 'failed:7' (3 cases of run 7 had such a result, and none" in told
    assert "no case matches 'unscored:2' (0 cases of run 2" in told


@pytest.mark.parametrize(
    ("models", "chosen"), [(None, ()), (["a*"], ("a", "a@x")), (["b"], ("b",)), (["new"], ())]
)
def test_with_chosen_models_their_own_results_choose_the_cases(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, models: list[str] | None, chosen: tuple[str]
) -> None:
    keys = [SimpleNamespace(key=key) for key in ("a", "a@x", "b")]
    run = SimpleNamespace(started=SimpleNamespace(run_number=7, models=keys))
    conditions: list[Conditions] = []

    def choose(_: object, choice: Conditions) -> list[Any]:
        conditions.append(choice)
        return [SimpleNamespace(case=SimpleNamespace(suite_id="s", case_id="c"))]

    monkeypatch.setattr(cases_by_result, "chosen_outcomes", choose)
    monkeypatch.setattr(cases_by_result, "resolve_run", lambda *_: None)
    monkeypatch.setattr(RecordedRun, "read", lambda *_: run)
    loaded = load_configuration(write(tmp_path, [case(1)]))
    selection = SelectionSection(only=["failed:7"], models=models)
    configuration = loaded.configuration.model_copy(update={"selection": selection})
    cases_by_result.with_cases_by_result(replace(loaded, configuration=configuration), MagicMock())
    assert conditions == [Conditions({"status": CHOICES["failed"], "model": chosen})]


def test_the_results_that_choose_cases_are_those_that_are_printed() -> None:
    assert set(RESULT_KINDS) == set(CHOICES)


def test_a_value_that_is_written_whole_is_chosen_though_it_reads_as_a_pattern(
    tmp_path: Path,
) -> None:
    listed = [{**case(n), "case_id": name} for n, name in enumerate(("tests[1]", "tests1", "x*"))]
    selection = {"only": ["id:tests[1]", "id:x*"]}
    found, _ = read(load_configuration(write(tmp_path, listed, selection=selection)))
    assert found == ["tests[1]", "tests1", "x*"], "and the pattern means what it meant"
    selection = {"exclude": ["id:tests[[]1]"]}
    found, _ = read(load_configuration(write(tmp_path, listed, selection=selection)))
    assert found == ["tests1", "x*"]


@pytest.mark.parametrize("size", [1, 255, 256, 257, 300, 301])
def test_a_sample_has_its_size_and_keeps_the_order_of_the_plan(tmp_path: Path, size: int) -> None:
    found = chosen(tmp_path, 300, sample=size)
    assert len(found) == min(size, 300)
    assert found == sorted(found)


def test_a_sample_is_the_same_whatever_the_files_and_their_order_and_other_for_another_seed(
    tmp_path: Path,
) -> None:
    first = chosen(tmp_path, 100, sample=7, seed=7)
    assert sorted(chosen(tmp_path, 100, 3, sample=7, seed=7)) == first
    shuffled = [case(n) for n in range(100)]
    random.Random(1).shuffle(shuffled)
    for each in shuffled:
        each["prompt"] += " in other words"
    configuration = write(tmp_path, shuffled, selection={"sample": 7, "seed": 7})
    assert sorted(read(load_configuration(configuration))[0]) == first
    assert chosen(tmp_path, 100, sample=7, seed=8) != first
    assert set(first) < set(chosen(tmp_path, 100, sample=20, seed=7)), "a larger one has it inside"


def test_the_order_of_a_draw_is_for_ever() -> None:
    """Were it another one some day, no sample that is on record could be drawn again."""
    asked = Case(dialect="failproof", case_id="a", suite_id="b", turns=())
    assert f"{rank(7, asked):x}"[:16] == "e4ffdf0abce1445c"
    odd = asked.model_copy(update={"case_id": "naïve \U0001f600 \x00"})
    assert f"{rank(0, odd):x}"[:16] == "99d2ebb553125ef1"


def test_of_a_sample_it_is_said_and_recorded_of_how_many_it_is(tmp_path: Path) -> None:
    listed = [case(n) for n in range(1_432)]
    _, reading = read(load_configuration(write(tmp_path, listed, selection={"sample": 100})))
    assert [each.describe() for each in reading.findings] == [
        "selection: 100 of 1,432 cases: sample of 100, seed 0"
    ]
    assert reading.selected is not None
    assert (reading.selected.of_cases, reading.selected.seed) == (1_432, 0)
    assert sum(part.cases for part in reading.parts) == 100


def test_filters_come_first_and_the_sample_is_of_what_they_leave(tmp_path: Path) -> None:
    listed = [case(n) for n in range(12)]
    prompts = {"path": str(tmp_path / "cases0.jsonl"), "filters": {"tags": ["slow"]}}
    file = write(tmp_path, listed, prompts=prompts, selection={"sample": 2})
    found, reading = read(load_configuration(file))
    assert set(found) < {"case-000", "case-003", "case-006", "case-009"}
    assert reading.selected is not None and reading.selected.of_cases == 4


@pytest.mark.parametrize(
    ("selection", "said"),
    [
        ({"only": ["tag:fast"]}, "selection.only: no-match"),
        ({"exclude": ["suite:Odd"]}, "selection.exclude: no-match"),
        (
            {"only": ["id:x"], "exclude": ["id:y"]},
            "selection.exclude: no-match, selection.only: no-match",
        ),
        ({"exclude": ["id:*"]}, "selection: no-cases"),
        ({"only": ["suite:odd"], "exclude": ["suite:odd"]}, "selection: no-cases"),
        ({"exclude": ["id:*"], "sample": 3}, "selection: no-cases"),
    ],
)
def test_a_pattern_without_a_case_and_a_choice_of_nothing_are_errors(
    tmp_path: Path, selection: dict[str, Any], said: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        chosen(tmp_path, **selection)
    assert coded(refused.value) == said


def test_of_many_values_an_error_names_some_and_says_that_there_are_more(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="case-019 and more"):
        chosen(tmp_path, 300, only=["id:nothing"])


@pytest.mark.parametrize(
    ("selection", "said"),
    [
        ({"only": ["smoke"]}, "selection.only[0]: invalid-pattern"),
        ({"only": ["tag:"]}, "selection.only[0]: invalid-pattern"),
        ({"exclude": ["ID:x"]}, "selection.exclude[0]: invalid-pattern"),
        ({"limit": 1, "sample": 1}, "selection.limit: options-conflict"),
        ({"seed": 7}, "selection.seed: no-effect"),
        ({"limit": 0}, "selection.limit: out-of-range"),
        ({"sample": 1_000_001}, "selection.sample: out-of-range"),
        ({"models": ["n"]}, "selection.models[0]: unknown-model"),
    ],
)
def test_what_cannot_be_selected_by_is_refused_before_a_case_is_read(
    tmp_path: Path, selection: dict[str, Any], said: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        load_configuration(write(tmp_path, [case(0)], selection=selection))
    assert coded(refused.value) == said


def test_of_several_models_those_are_left_that_are_named_with_the_keys_that_they_had(
    tmp_path: Path,
) -> None:
    models = [MODEL, {**MODEL, "temperature": 0.5}, {**MODEL, "model": "other"}]
    every = model_keys(load_configuration(write(tmp_path, [], models=models)).configuration.models)
    assert every == ["openai:m#1", "openai:m#2", "other"]
    for wanted, left in (
        (["openai:m#2"], ["openai:m#2"]),
        (["o*"], every),
        (["other", "*#1"], ["openai:m#1", "other"]),
    ):
        file = write(tmp_path, [], models=models, selection={"models": wanted})
        loaded = load_configuration(file)
        assert model_keys(loaded.configuration.models) == left
        assert loaded.of_models == 3


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        (["a", "a"], "models[0].key: duplicate-name, models[1].key: duplicate-name"),
        (["openai:m", None, None], None),
        (["m", None], "models[0].key: duplicate-name"),
        ([" a"], "models[0].key: invalid-name"),
        (["judge:a"], "models[0].key: invalid-name"),
        (["a\nb"], "models[0].key: invalid-name"),
    ],
)
def test_a_key_of_ones_own_is_one_that_no_other_entry_has(
    tmp_path: Path, keys: list[str | None], said: str | None
) -> None:
    models = [MODEL if key is None else {**MODEL, "key": key} for key in keys]
    file = write(tmp_path, [], models=models)
    if said is None:
        found = model_keys(load_configuration(file).configuration.models)
        assert found == ["openai:m", "openai:m#1", "openai:m#2"]
        return
    with pytest.raises(InvalidInput) as refused:
        load_configuration(file)
    assert coded(refused.value) == said


@every(
    ("filters", "limit", "words"),
    [
        ({"tags": None}, None, None),
        ({"tags": ["a", "b"], "source": ["c"]}, None,
         "3 cases: only cases with tags a or b and source c (prompts.filters)"),
        ({"tags": ["a"]}, 3,
         "3 of 9 cases: the first 3; only cases with tags a (prompts.filters)"),
        ("of another version", 3, "3 of 9 cases: the first 3"),
    ],
)  # fmt: skip
def test_filters_are_part_of_what_a_run_asked(
    filters: Any, limit: int | None, words: str | None
) -> None:
    selection = None if limit is None else Selection(of_cases=9, of_models=1, limit=limit)
    configuration = {"prompts": {"filters": filters}}
    assert describe_recorded_part(selection, configuration, 3, 1) == words


@every(
    ("selection", "words"),
    [
        (None, "3 of 1,081 cases: only cases with tags a (prompts.filters)"),
        (Selection(of_cases=9, of_models=1, limit=3),
         "3 of 9 cases: the first 3; 9 of 1,081 cases: only cases with tags a (prompts.filters)"),
        (Selection(of_cases=3, of_models=2, models=("m",)),
         "1 of 2 models: m; 3 of 1,081 cases: only cases with tags a (prompts.filters)"),
    ],
)  # fmt: skip
def test_cases_that_filters_leave_are_told_of_how_many(
    selection: Selection | None, words: str
) -> None:
    suites = [
        SuiteSnapshot(path="p", sha256="s", dialect="failproof", cases=cases, of_cases=of_cases)
        for cases, of_cases in ((0, 1_000), (3, 81))
    ]
    configuration = {"prompts": {"filters": {"tags": ["a"]}}}
    assert describe_recorded_part(selection, configuration, 3, 1, suites) == words
    assert [describe_cases(suite) for suite in suites] == ["0 of 1,000", "3 of 81"]
