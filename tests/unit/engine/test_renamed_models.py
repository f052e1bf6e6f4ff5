"""A model under another name, set alike, is told as renamed."""

from __future__ import annotations

from typing import Any

from failproof_es.engine.related_runs.differences import renamed_models
from failproof_es.events.runs import ModelSnapshot


def _model(key: str, prompt: str = "Be brief.", **parameters: Any) -> ModelSnapshot:
    settings = {"prompt_template": {"text": prompt}}
    return ModelSnapshot(
        key=key, provider="openai", model="m", parameters=parameters, settings=settings
    )


def test_a_model_under_another_name_is_told_once() -> None:
    left = [_model("m@brief"), _model("m@polite", "Be polite."), _model("m@t=1", temperature=1)]
    right = [_model("m@short"), _model("m@terse"), _model("m@polite", "Be very polite.")]
    assert [*renamed_models(left, right)] == [("m@brief", "m@short")]
    assert [*renamed_models(left, left)] == []
    assert [*renamed_models(left[1:2], [_model("m@kind", "Be kind.")])] == []
