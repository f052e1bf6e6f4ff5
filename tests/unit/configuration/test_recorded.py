"""Configurations as runs recorded them: read through their types, whatever version wrote them."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from failproof_es.configuration.loading import load_configuration
from failproof_es.configuration.recorded import recorded_configuration, repetitions_of
from failproof_es.configuration.schema import JudgingSection
from failproof_es.core.history_errors import ImpossibleHistory
from failproof_es.events import RunStarted
from failproof_es.support.shipped import configuration_names
from tests.every import every
from tests.unit.event_samples import SAMPLES

SECTIONS = ("test_run", "prompts", "execution", "judging", "output", "gates")


def started(configuration: dict[str, Any]) -> RunStarted:
    [example] = [each for each in SAMPLES if isinstance(each, RunStarted)]
    return example.model_copy(update={"configuration": configuration})


@every("name", sorted(configuration_names()))
def test_every_section_of_a_configuration_that_ships_comes_back(name: str) -> None:
    loaded = load_configuration(Path(name))
    recorded = recorded_configuration(started(loaded.resolved()))
    for section in SECTIONS:
        assert getattr(recorded, section) == getattr(loaded.configuration, section)


def test_a_value_that_only_the_limits_of_today_refuse_stays_as_it_was() -> None:
    recorded = recorded_configuration(
        started(
            {
                "execution": {"repetitions": 20_000, "retry_delay_ms": 10**9, "retry_attempts": 2},
                "output": {"file": {"path": "x", "checkpoint_every": 2**63}},
            }
        )
    )
    assert recorded.execution.repetitions == 20_000
    assert recorded.execution.retry_delay_ms == 10**9
    assert recorded.execution.retry_attempts == 2
    assert recorded.output.file is not None
    assert (recorded.output.file.path, recorded.output.file.checkpoint_every) == ("x", 2**63)


@every(("repetitions", "planned"), [(1, 4), (2, 4), (2, 8)])
def test_what_a_run_planned_says_how_often_it_asks(repetitions: int, planned: int) -> None:
    run = started({"execution": {"repetitions": repetitions}})
    run = run.model_copy(update={"models": run.models[:1], "planned_evaluations": planned})
    assert (run.planned_cases, repetitions_of(run)) == (2, repetitions)


@every("repetitions", [-5, 0, 3, 10**15, 2**63])
def test_repetitions_beyond_the_plan_would_be_read_without_end(repetitions: int) -> None:
    run = started({"execution": {"repetitions": repetitions}})
    run = run.model_copy(update={"models": run.models[:1]})
    with pytest.raises(ImpossibleHistory, match=r"execution\.repetitions: .* that the run planned"):
        repetitions_of(run)


@every("name", ["", "odd name: \u2028!"])
def test_a_name_that_only_the_rules_of_today_refuse_stays_as_it_was(name: str) -> None:
    assert recorded_configuration(started({"test_run": {"name": name}})).test_run.name == name


def test_lists_that_only_the_limits_of_today_refuse_stay_as_they_were() -> None:
    written = {"gates": {"no_failures_at": []}, "prompts": {"filters": {"tags": [], "source": []}}}
    recorded = recorded_configuration(started(written))
    assert recorded.gates.no_failures_at == []
    assert (recorded.prompts.filters.tags, recorded.prompts.filters.source) == ([], [])


def test_a_key_of_another_version_says_nothing() -> None:
    written = {"execution": {"repetitions": 3, "warp": 9}, "output": {"file": {"ink": "blue"}}}
    recorded = recorded_configuration(started(written))
    assert recorded.execution.repetitions == 3
    assert recorded.output.file is not None


def test_the_time_of_a_run_is_a_time() -> None:
    written = {"test_run": {"name": "a", "timestamp": "2026-01-02T03:04:05Z"}}
    recorded = recorded_configuration(started(written))
    assert recorded.test_run.timestamp == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@every(
    ("written", "place"),
    [
        ({"execution": {"repetitions": "many"}}, "execution.repetitions"),
        ({"execution": []}, "execution"),
        ({"execution": {"repetitions": None, "warp": 1}}, "execution.repetitions"),
    ],
)
def test_what_is_no_configuration_is_told_with_its_place(
    written: dict[str, Any], place: str
) -> None:
    recorded = recorded_configuration(started(written))
    with pytest.raises(ImpossibleHistory, match=place):
        _ = recorded.execution
    assert recorded.judging.rule == "majority", "a section that is not asked for is not in the way"


def nested(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(levels):
        value = {"a": value}
    return value


@every("levels", [253, 254, 255, 256, 257, 1000])
def test_what_is_nested_too_deeply_is_in_the_way_of_its_own_section_only(levels: int) -> None:
    """The log's reader takes what its writer does not."""
    deep = nested(levels)
    written = {"execution": {"repetitions": 2}, "judging": deep, "prompts": {"options": deep}}
    recorded = recorded_configuration(started(written))
    assert recorded.execution.repetitions == 2
    assert recorded.prompts.options == deep
    try:
        assert recorded.judging == JudgingSection(), "a key of another version says nothing"
    except ImpossibleHistory as error:
        assert levels > 250 and "nested too deeply" in str(error)


def test_a_section_is_parsed_once_for_every_use() -> None:
    run = started(load_configuration(Path("quickstart")).resolved())
    assert recorded_configuration(run).execution is recorded_configuration(run).execution
