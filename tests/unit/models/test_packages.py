"""A class of an installed package is named with its package and version; a loose file is not."""

from __future__ import annotations

import asyncio
from importlib import metadata
from typing import Any

import pytest

from failproof_es.configuration.schema import Configuration, Model
from failproof_es.engine.identity import package_versions
from failproof_es.models import create_provider, package_of
from failproof_es.problems import InvalidInput

CLASS = "click:Nothing"
OF_CLICK = f"class click:Nothing of the package click {metadata.version('click')} cannot be loaded"


def checked(class_name: str) -> str:
    model = Model.model_validate({"provider": "python", "model": "m", "class": class_name})
    provider = create_provider(model, timeout_ms=1000, connections=1)
    with pytest.raises(InvalidInput) as caught:
        asyncio.run(provider.check())
    return str(caught.value)


def test_a_defect_in_a_package_names_it_and_its_version() -> None:
    assert checked(CLASS).startswith(OF_CLICK)
    assert checked("nowhere_at_all:X").startswith("class nowhere_at_all:X cannot be loaded: ")


def test_the_version_of_a_plugin_stands_with_those_that_a_result_depends_on() -> None:
    models: list[dict[str, Any]] = [{"provider": "python", "model": "m", "class": CLASS}]
    raw = {"test_run": {"name": "a"}, "models": models, "prompts": {"path": "a.jsonl"}}
    versions = package_versions(Configuration.model_validate(raw), "failproof")
    assert versions["click"] == metadata.version("click")
    assert package_of("nowhere_at_all:X") is None
