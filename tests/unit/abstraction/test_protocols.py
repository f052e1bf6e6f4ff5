"""The interfaces are those of specification 003, name by name, and stand without the engine."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from typing import Any, get_type_hints

import pytest

from failproof_es.abstraction import (
    benchmark_api,
    data_manager_api,
    dataset_loader_api,
    enums,
    llm_manager_api,
    prompt_api,
    task_manager_api,
    types,
)
from failproof_es.abstraction.enums import BenchmarkEvent, TaskStatus
from failproof_es.abstraction.types import BenchmarkTask, ExpectedAnswer, Result

ANY_CALLBACK = Callable[[Any], None]

METHODS: dict[type, dict[str, tuple[dict[str, Any], Any]]] = {
    benchmark_api.BenchmarkApi: {
        "list_models": ({}, list[str]),
        "select_models": ({"model_names": list[str]}, type(None)),
        "select_judge_model": ({"judge_model_name": str}, type(None)),
        "start_benchmark": ({}, int),
        "get_progress": ({}, dict[str, float]),
        "generate_report": ({"run_id": int}, str),
        "subscribe": ({"event": BenchmarkEvent, "callback": ANY_CALLBACK}, int),
        "unsubscribe": ({"token": int}, type(None)),
    },
    data_manager_api.DataManagerApi: {
        "create_run": ({"model_names": list[str]}, int),
        "save_tasks": ({"run_id": int, "tasks": list[BenchmarkTask]}, type(None)),
        "save_result": ({"result": Result}, type(None)),
        "load_results": ({"run_id": int, "status": TaskStatus}, list[Result]),
        "update_result": ({"result": Result}, type(None)),
    },
    dataset_loader_api.DataSetLoaderApi: {
        "load_tasks": ({"folder_path": str}, list[BenchmarkTask]),
    },
    llm_manager_api.LLMManagerApi: {
        "list_models": ({}, list[str]),
        "prepare_model": ({"name": str}, type(None)),
        "stream_generate": (
            {"model_name": str, "prompt": str, "on_token": Callable[[str], None]},
            type(None),
        ),
        "generate": ({"model_name": str, "prompt": str}, str),
    },
    prompt_api.PromptApi: {
        "build_generation_prompt": ({"task": BenchmarkTask}, str),
        "build_judge_prompt": ({"task": BenchmarkTask, "llm_response": str}, str),
    },
    task_manager_api.TaskManagerApi: {
        "submit_task": ({"run_id": int, "task": BenchmarkTask, "model_name": str}, int),
        "subscribe": (
            {"submission_id": int, "event": BenchmarkEvent, "callback": ANY_CALLBACK},
            int,
        ),
        "unsubscribe": ({"token": int}, type(None)),
    },
}

NO_DEFAULT = dataclasses.MISSING

FIELDS: dict[type, tuple[bool, list[tuple[str, Any, Any]]]] = {
    ExpectedAnswer: (
        True,
        [(name, str, NO_DEFAULT) for name in ("most_expected", "good_answer", "pass_option")],
    ),
    BenchmarkTask: (
        True,
        [
            ("task_id", str, NO_DEFAULT),
            ("question", str, NO_DEFAULT),
            ("expected_answer", ExpectedAnswer, NO_DEFAULT),
            ("incorrect_direction", str, NO_DEFAULT),
        ],
    ),
    Result: (
        False,
        [
            ("result_id", int | None, None),
            ("run_id", int | None, None),
            ("model_name", str, ""),
            ("task_id", str, ""),
            ("llm_response", str, ""),
            ("time_taken_ms", int, 0),
            ("tokens_generated", int, 0),
            ("status", TaskStatus, TaskStatus.NEW),
            ("evaluation_score", float, -1.0),
            ("evaluation_reason", str, ""),
            ("error_message", str | None, None),
        ],
    ),
    types.BenchmarkConfig: (
        True,
        [
            ("run_id", int, NO_DEFAULT),
            ("model_names", list[str], NO_DEFAULT),
            ("judge_model_name", str, NO_DEFAULT),
            ("concurrency", int, NO_DEFAULT),
            ("timeout_sec", int, NO_DEFAULT),
            ("dataset_path", str, NO_DEFAULT),
        ],
    ),
    types.BenchmarkProgress: (
        True,
        [
            ("total_tasks", int, NO_DEFAULT),
            ("completed_tasks", int, NO_DEFAULT),
            ("percent_complete", float, NO_DEFAULT),
        ],
    ),
}


@pytest.mark.parametrize("protocol", METHODS, ids=lambda protocol: protocol.__name__)
def test_a_protocol_has_exactly_the_methods_and_signatures_of_the_specification(
    protocol: type,
) -> None:
    assert getattr(protocol, "_is_protocol", False)
    found = {
        name: (
            {
                parameter: hint
                for parameter, hint in get_type_hints(method).items()
                if parameter != "return"
            },
            get_type_hints(method)["return"],
        )
        for name, method in vars(protocol).items()
        if inspect.isfunction(method) and not name.startswith("_")
    }
    assert found == METHODS[protocol]
    for name, (parameters, _) in METHODS[protocol].items():
        signature = inspect.signature(getattr(protocol, name))
        assert list(signature.parameters) == ["self", *parameters]
        assert all(p.default is p.empty for p in signature.parameters.values())


@pytest.mark.parametrize("kind", FIELDS, ids=lambda kind: kind.__name__)
def test_a_data_type_has_exactly_the_fields_and_defaults_of_the_specification(kind: Any) -> None:
    frozen, fields = FIELDS[kind]
    hints = get_type_hints(kind)
    found = [(each.name, hints[each.name], each.default) for each in dataclasses.fields(kind)]
    assert found == fields
    assert kind.__dataclass_params__.frozen is frozen


def test_the_enums_have_exactly_the_values_of_the_specification() -> None:
    assert {each.name: each.value for each in enums.TaskStatus} == {
        name: name for name in ("NEW", "PENDING_JUDGEMENT", "JUDGEMENT_COMPLETED", "FAILED")
    }
    assert {each.name: each.value for each in enums.BenchmarkEvent} == {
        "STARTED": "started",
        "PROGRESS_CHANGED": "progress_changed",
        "STREAMING_RESULT": "streaming_result",
        "ERROR": "error",
        "COMPLETED": "completed",
    }
