"""A model under another name with the same settings is a renamed model."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from failproof_es.engine.related_runs.differences import renamed_models
from failproof_es.events.runs import ModelSnapshot


def _model(key: str, prompt: str = "Be brief.", **parameters: Any) -> ModelSnapshot:
    settings = {"prompt_template": {"text": prompt}}
    return ModelSnapshot(
        key=key, provider="openai", model="m", parameters=parameters, settings=settings
    )


def test_a_renamed_model_is_named_once() -> None:
    left = [_model("m@brief"), _model("m@polite", "Be polite."), _model("m@t=1", temperature=1)]
    right = [_model("m@short"), _model("m@terse"), _model("m@polite", "Be very polite.")]
    assert [*renamed_models(left, right)] == [("m@brief", "m@short")]
    assert [*renamed_models(left, left)] == []
    assert [*renamed_models(left[1:2], [_model("m@kind", "Be kind.")])] == []


def test_renamed_models_are_paired_without_comparing_each_with_each(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    numbers = range(50)
    left = [_model(f"m@{n}", f"Be {n}.") for n in numbers]
    right = [_model(f"n@{n}", f"Be {n}.") for n in reversed(numbers)]
    dumped = Counter[str]()
    dump = ModelSnapshot.model_dump

    def count(model: ModelSnapshot, **options: Any) -> dict[str, Any]:
        dumped[model.key] += 1
        return dump(model, **options)

    monkeypatch.setattr(ModelSnapshot, "model_dump", count)
    assert [*renamed_models(left, right)] == [(f"m@{n}", f"n@{n}") for n in numbers]
    assert set(dumped.values()) == {1}
