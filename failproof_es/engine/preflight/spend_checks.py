"""Checks whether a spend ceiling can be kept, and whether a run is likely to reach it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from failproof_es.configuration.schema import Configuration, Model
from failproof_es.core.costs import Prices
from failproof_es.core.spend import (
    NOT_BOUNDED,
    is_bounded,
    most_output_tokens,
    usd_text,
    written_usd,
)
from failproof_es.events import ModelSnapshot, RunStarted
from failproof_es.models.trust.permissions import models_of
from failproof_es.problems import InvalidInput, Problem

CEILING = "execution.max_spend_usd"


def ceiling_problems(
    configuration: Configuration, models: Sequence[ModelSnapshot], prices: Prices
) -> Iterator[Problem]:
    """An error for each model and judge with which the spend ceiling of a configuration cannot be
    kept. Nothing without a ceiling. `models` are its models and judges, as they are recorded, in
    their order; `prices` are by their keys."""
    if configuration.execution.max_spend_usd is not None:
        yield from unbounded_models(configuration, models, prices)


def unbounded_models(
    configuration: Configuration, models: Sequence[ModelSnapshot], prices: Prices
) -> Iterator[Problem]:
    """An error for each model and judge whose costs have no bound, with its place in the
    configuration. `models` are the recorded models, then the judges, in configuration order;
    `prices` are by their keys."""
    for (field, model), snapshot in zip(models_of(configuration), models, strict=True):
        if not is_bounded(prices.get(snapshot.key)):
            yield Problem(
                "price-unknown",
                f"the price of {model.model} is not known, so the spend ceiling "
                f"`{CEILING}` cannot be kept",
                field=f"{field}.model",
                remedy=f"give its prices: {price_line(model)}",
            )
        if most_output_tokens(snapshot.parameters) is None:
            unbounded = sorted(NOT_BOUNDED.intersection(snapshot.parameters))
            names = ", ".join(f"`{name}`" for name in unbounded) or "its limits of tokens"
            yield Problem(
                "cost-unbounded",
                f"nothing bounds what a request may cost with {names}, so the spend ceiling "
                f"`{CEILING}` cannot be kept",
                field=f"{field}.parameters",
                remedy="remove the parameter, or the ceiling",
            )


def require_priced(configuration: Configuration, started: RunStarted, prices: Prices) -> None:
    """Raise `InvalidInput` unless a spend ceiling can be kept with `prices`, which the run
    recorded."""
    models = (*started.models, *started.judges)
    problems = list(unbounded_models(configuration, models, prices))
    if problems:
        raise InvalidInput(
            [
                *problems,
                Problem(
                    "prices-fixed",
                    "a run keeps the prices that it began with",
                    field="--max-spend",
                    remedy="start a new run with prices, or resume without a ceiling",
                ),
            ]
        )


def estimate_warnings(
    configuration: Configuration, estimates: Sequence[Mapping[str, Any]]
) -> Iterator[Problem]:
    """A warning if the highest estimated costs of a run exceed its spend ceiling.

    Nothing without a ceiling, or if a price is unknown. `estimates` are those of its models and
    judges: `cost_usd` is the least and the most.
    """
    max_spend = configuration.execution.max_spend_usd
    ranges = [estimate["cost_usd"] for estimate in estimates]
    if max_spend is None or None in ranges:
        return
    ceiling = written_usd(max_spend)
    least, most = (sum(Decimal(repr(cost_range[end])) for cost_range in ranges) for end in (0, 1))
    if most <= ceiling:
        return
    costs = (
        f"the run costs at least {_format_usd(least)} by the estimate"
        if least > ceiling
        else f"the run may cost up to {_format_usd(most)} by the estimate"
    )
    yield Problem(
        "spend-ceiling-below-estimate",
        f"{costs}, more than the ceiling of {usd_text(ceiling)}: it pauses before that",
        field=CEILING,
        remedy="raise the ceiling, ask fewer cases, or lower `max_tokens`",
        severity="warning",
    )


def _format_usd(amount: Decimal | int) -> str:
    return f"${amount:,.4f}"


def price_line(model: Model) -> str:
    """The line of a configuration that gives a model's price, to be filled in."""
    return (
        f"`prices: {{version: YYYY-MM-DD, models: [{{model: {model.model}, input_usd_per_million: "
        "..., output_usd_per_million: ...}]}` (0 for what costs nothing)"
    )
