"""What the data manager and the interface refuse before anything is read or recorded."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import orjson
import pytest

from failproof_es.abstraction import opened
from failproof_es.abstraction.enums import TaskStatus
from failproof_es.abstraction.implementation import data_manager
from failproof_es.abstraction.implementation.data_manager import DataManager
from failproof_es.abstraction.implementation.llm_manager import LLMManager
from failproof_es.abstraction.types import Result
from failproof_es.configuration.loading import LoadedConfiguration, load_configuration
from failproof_es.configuration.variants import model_keys
from failproof_es.problems import InvalidInput
from tests.every import every

NOTHING: Any = None
MODEL = {"provider": "openai", "base_url": "http://127.0.0.1:9/v1"}
ALPHA, BETA = ({**MODEL, "model": name} for name in ("alpha", "beta"))
RESULT = Result(
    run_id=1, model_name="alpha", task_id="t", llm_response="Blue.",
    status=TaskStatus.PENDING_JUDGEMENT,
)  # fmt: skip


def configured(folder: Path, **sections: Any) -> LoadedConfiguration:
    configuration = {
        "test_run": {"name": "benchmark"},
        "models": [ALPHA, BETA],
        "judge": {**MODEL, "model": "judge"},
        "prompts": {"path": "tasks", "dialect": "benchmark"},
    }
    path = folder / "benchmark.yaml"
    path.write_bytes(orjson.dumps({**configuration, **sections}))
    return load_configuration(path)


@every(
    ("changes", "message"),
    [
        ({"tokens_generated": -1}, "tokens_generated: out-of-range"),
        ({"tokens_generated": 2**63}, "tokens_generated: out-of-range"),
        ({"tokens_generated": True}, "tokens_generated: wrong-type"),
        ({"time_taken_ms": -1}, "time_taken_ms: out-of-range"),
        ({"time_taken_ms": 1.5}, "time_taken_ms: wrong-type"),
        ({"evaluation_score": "1"}, "evaluation_score: wrong-type"),
        ({"llm_response": None}, "llm_response: wrong-type"),
        ({"llm_response": "a\ud800"}, "llm_response: not-storable"),
        ({"evaluation_reason": "\udfff"}, "evaluation_reason: not-storable"),
        ({"error_message": "\ud83d"}, "error_message: not-storable"),
    ],
)
def test_a_result_that_no_event_can_hold_is_refused_by_field(
    changes: dict[str, Any], message: str
) -> None:
    data = DataManager(NOTHING, NOTHING, NOTHING, NOTHING)
    for save in (data.save_result, data.update_result):
        with pytest.raises(InvalidInput) as refused:
            save(replace(RESULT, **changes))
        (problem,) = refused.value.problems
        assert f"{problem.field}: {problem.code}" == message


def test_a_run_knows_its_models_by_the_names_that_were_chosen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = configured(tmp_path, models=[{**ALPHA, "key": "small"}, {**BETA, "key": "large"}])
    created: list[LoadedConfiguration] = []
    monkeypatch.setattr(data_manager, "create", lambda loaded, *_, **__: created.append(loaded))
    loop = cast(Any, SimpleNamespace(run=lambda _: SimpleNamespace(run_number=1)))
    models = LLMManager(loaded.configuration, loop)
    DataManager(NOTHING, loaded, models, loop).create_run(["beta", "alpha"])
    assert model_keys(created[0].configuration.models) == ["beta", "alpha"]


@every(
    ("sections", "field"),
    [
        ({"matrix": {"parameters": {"temperature": [0.0, 1.0]}}}, "matrix"),
        ({"matrix": {"prompts": {"terse": {"user": "Short: {prompt}"}}}}, "matrix"),
        ({"models": [ALPHA, {**ALPHA, "key": "other", "temperature": 1.0}]}, "models"),
        (
            {"models": [ALPHA, {**BETA, "prompt_template": {"system": "S"}}]},
            "models[1].prompt_template",
        ),
    ],
)
def test_a_setting_that_the_interface_has_no_word_for_is_refused(
    tmp_path: Path, sections: dict[str, Any], field: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        opened._dataset_path(configured(tmp_path, **sections))
    (problem,) = refused.value.problems
    assert (problem.code, problem.field, problem.line) == ("unsupported-feature", field, 1)
