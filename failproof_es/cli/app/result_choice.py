"""The options that choose results by their case and model, for every command that lists them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from failproof_es.cli.app.options import all_of
from failproof_es.problems import Problems
from failproof_es.reading.condition_names import unknown_names
from failproof_es.reading.recorded_run import RecordedRun
from failproof_es.reading.result_conditions import Conditions

choice_options = all_of(
    click.option("--suite", "suites", multiple=True, metavar="ID", help="Only this suite."),
    click.option("--model", "models", multiple=True, metavar="KEY", help="Only this model."),
    click.option(
        "--case", "cases", multiple=True, metavar="ID", help="Only this case, or SUITE/ID."
    ),
    click.option("--tag", "tags", multiple=True, metavar="TAG", help="Only cases with this tag."),
    click.option(
        "--severity",
        "severities",
        multiple=True,
        metavar="S",
        help="Only this severity; `S0` is `critical`, too.",
    ),
)
"""Several options of one kind are alternatives."""
_NAMED = {
    "suite": "suites", "model": "models", "case": "cases", "tag": "tags", "severity": "severities",
}  # fmt: skip
"""By the name of a condition, the option that gives its names."""


def named_conditions(options: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """The names given by the options, in the form of `Conditions.named`."""
    return {name: options[option] for name, option in _NAMED.items()}


def require_known_names(run: RecordedRun, conditions: Conditions) -> None:
    """Raise `InvalidInput` with every name that nothing in the run has, and near names."""
    problems = Problems()
    for unknown in unknown_names(run, conditions):
        option = unknown.condition.removesuffix("_")
        problems.error(
            "unknown-name",
            f"nothing in run {run.started.run_number} has the {option} {unknown.name!r}",
            field=f"--{option}",
            remedy=unknown.hint(),
        )
    problems.raise_errors()
