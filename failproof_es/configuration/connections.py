"""The settings that a branch may change: how models are reached, never the questions."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from failproof_es.configuration.explain import report_schema_errors
from failproof_es.configuration.locations import Location, dotted
from failproof_es.configuration.overrides import override
from failproof_es.configuration.rules import check_rules
from failproof_es.configuration.schema import Configuration
from failproof_es.configuration.yaml_tree import FROM_SETTING as _FROM
from failproof_es.configuration.yaml_tree import YamlTree
from failproof_es.problems import Problem, Problems

_OF_A_MODEL = (
    "base_url",
    "api_key_env",
    "concurrent_requests",
    "requests_per_minute",
    "tokens_per_minute",
)
_OF_EXECUTION = (
    "timeout_per_request_ms",
    "parallel_workers",
    "retry_attempts",
    "retry_delay_ms",
    "rate_limit_wait_ms",
    "pause_after_lost",
    "max_spend_usd",
)
_MAY_BE_SET = (
    f"may be set: {', '.join(_OF_A_MODEL)} of `models.N`, `judge` or `judges.N`, and of "
    f"`execution` {', '.join(_OF_EXECUTION)}; for anything else start a new run, of the cases that "
    "failed with `--only failed:RUN`"
)


@dataclass(frozen=True, slots=True)
class ConnectionOverrides:
    """A resolved configuration, and its changed values, by path."""

    configuration: dict[str, Any]
    changed: dict[str, Any]


def override_connections(resolved: dict[str, Any], settings: Sequence[str]) -> ConnectionOverrides:
    """Apply `key.path=value` settings to a run's recorded configuration, for a branch of the run.

    A branch is a new run that carries over evaluations; it may only change how models are reached.
    `resolved` is the recorded JSON, and is not changed. Raises `InvalidInput` with every setting
    that is invalid or may not change.
    """
    problems = Problems()
    tree = YamlTree(deepcopy(resolved))
    override(tree, settings, problems)
    for location in sorted(tree.overridden, key=dotted):
        if not _concerns_a_connection(location, resolved):
            problems.error(
                "not-changeable", "cannot be changed for a branch",
                path=_FROM, field=dotted(location), remedy=_MAY_BE_SET,
            )  # fmt: skip
    problems.raise_errors()
    try:
        configuration = Configuration.model_validate(tree.value)
    except ValidationError as error:
        report_schema_errors(error, _FROM, tree, Configuration, problems)
    else:
        rule_problems = Problems()
        check_rules(_FROM, tree, configuration, rule_problems)
        problems.problems += [
            problem for problem in rule_problems if _is_about_override(problem, tree)
        ]
    problems.raise_errors()
    return ConnectionOverrides(
        tree.value,
        {
            dotted(location): value
            for location in sorted(tree.overridden, key=dotted)
            if (value := _value_at(tree.value, location)) != _value_at(resolved, location)
        },
    )


def _concerns_a_connection(location: Location, resolved: dict[str, Any]) -> bool:
    match location:
        case ("models" | "judges", int(), name):
            return name in _OF_A_MODEL
        case ("judge", name):
            return name in _OF_A_MODEL and resolved.get("judge") is not None
        case ("execution", name):
            return name in _OF_EXECUTION
    return False


def _is_about_override(problem: Problem, tree: YamlTree) -> bool:
    """Whether the problem is about a changed setting. Values of older versions stay valid."""
    return problem.field in {dotted(location) for location in tree.overridden}


def _value_at(value: Any, location: Location) -> Any:
    """The value at a path of keys and indexes. A key that an older version did not record is
    `None`."""
    for step in location:
        value = value.get(step) if isinstance(value, dict) else value[step]
    return value
