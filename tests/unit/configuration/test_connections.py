"""What a branch may change of a recorded configuration: how its models are reached."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from failproof_es.configuration.connections import override_connections
from failproof_es.configuration.schema import Configuration
from failproof_es.problems import InvalidInput
from tests.every import every

HERE, THERE = "http://127.0.0.1:1/v1", "http://127.0.0.1:2/v1"


def recorded(**sections: Any) -> dict[str, Any]:
    written = {
        "test_run": {"name": "t"},
        "models": [{"provider": "openai", "base_url": HERE, "model": m} for m in "ab"],
        "judge": {"provider": "openai", "base_url": HERE, "model": "j"},
        "prompts": {"path": "suite.jsonl"},
        **sections,
    }
    return Configuration.model_validate(written).model_dump(mode="json", by_alias=True)


def refusal(setting: str, resolved: dict[str, Any] | None = None) -> str:
    with pytest.raises(InvalidInput) as refused:
        override_connections(resolved or recorded(), [setting])
    return str(refused.value)


def test_how_models_and_judges_are_reached_may_change_and_how_hard_they_are_tried() -> None:
    before = recorded()
    unchanged = deepcopy(before)
    found = override_connections(
        before,
        [f"models.1.base_url={THERE}", "models[1].api_key_env=KEY", f"judge.base_url={THERE}",
         "execution.timeout_per_request_ms=5", "execution.parallel_workers=9",
         "execution.retry_attempts=0", "execution.retry_delay_ms=7",
         "execution.rate_limit_wait_ms=0"],
    )  # fmt: skip
    assert before == unchanged
    assert found.changed == {
        "execution.parallel_workers": 9, "execution.rate_limit_wait_ms": 0,
        "execution.retry_attempts": 0, "execution.retry_delay_ms": 7,
        "execution.timeout_per_request_ms": 5, "judge.base_url": THERE,
        "models[1].api_key_env": "KEY", "models[1].base_url": THERE,
    }  # fmt: skip
    after = Configuration.model_validate(found.configuration)
    assert [model.base_url for model in after.models] == [HERE, THERE]
    assert after.execution.parallel_workers == 9


def test_what_is_set_to_what_it_was_is_no_change() -> None:
    assert override_connections(recorded(), [f"models.0.base_url={HERE}"]).changed == {}


def test_a_setting_that_the_recorded_version_did_not_know_is_a_change() -> None:
    old = recorded()
    del old["execution"]["rate_limit_wait_ms"]
    found = override_connections(old, ["execution.rate_limit_wait_ms=60000"])
    assert found.changed == {"execution.rate_limit_wait_ms": 60_000}


def test_several_judges_may_be_reached_elsewhere_each() -> None:
    judges = [{"provider": "openai", "base_url": HERE, "model": m} for m in "jk"]
    found = override_connections(
        recorded(judge=None, judges=judges), [f"judges.1.base_url={THERE}"]
    )
    assert found.changed == {"judges[1].base_url": THERE}


@every(
    "setting",
    [
        "models.0.temperature=1", "models.0.model=other", "models.0.max_tokens=5",
        "models.0.parameters.top_p=0.1", "models.0.version=2", "models.0.seed=1",
        "models.0.stream=true", "models.0.provider=anthropic", "models=[]", "models.0={}",
        "judging.attempts=1", "judge=null", "judge.model=other", "judges.0.base_url=x",
        "prompts.path=other.jsonl", "execution.repetitions=2", "execution={}", "gates=null",
        "gates.min_accuracy=0", "test_run.name=other", "output.file=null", "output.database={}",
        "prices.version=2026-01-01", "execution.parallel_workers.deep=1", "made_up=1",
    ],
)  # fmt: skip
def test_what_changes_what_is_asked_is_refused_and_told_what_may_be_set(setting: str) -> None:
    said = refusal(setting)
    assert "--set: " in said
    assert (
        "may be set: base_url, api_key_env, concurrent_requests, requests_per_minute" in said
        or ("is not a" in said)
    )


@every(
    "setting",
    ["nonsense", "models.0.base_url", "models.0.base_url=ftp://x", "models.0.base_url=null",
     "models.0.base_url=http://user:secret-password@127.0.0.1/v1", "models.2.base_url=http://x",
     "models.0.api_key_env=sk-secret-password", "execution.parallel_workers=0",
     "execution.retry_attempts=many", "models.0.base_url=${HOST}", "models.0.base_url=http://x?y"],
)  # fmt: skip
def test_a_value_that_no_configuration_may_hold_is_refused_and_no_secret_is_repeated(
    setting: str,
) -> None:
    assert "secret-password" not in refusal(setting)


def test_rules_that_came_later_do_not_refuse_what_was_recorded_before_them() -> None:
    old = recorded()
    old["prices"] = {"file": "p.yaml", "version": "2026-01-01", "models": []}
    old["models"][0]["parameters"] = {"n": 2}
    assert override_connections(old, [f"models.1.base_url={THERE}"]).changed == {
        "models[1].base_url": THERE
    }
    assert "base_url" in refusal("models.1.base_url=ftp://x", old)


def test_a_judge_that_is_not_there_cannot_be_reached_elsewhere() -> None:
    assert "may be set" in refusal(f"judge.base_url={THERE}", recorded(judge=None))
