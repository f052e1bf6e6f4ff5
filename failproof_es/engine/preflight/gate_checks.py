"""Checks before anything is sent whether a run can measure what its gates and prices are about."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import get_close_matches

from failproof_es.configuration.gates_section import Gates
from failproof_es.configuration.schema import Configuration, ModelPrice
from failproof_es.core.case import Case
from failproof_es.core.costs import Prices
from failproof_es.core.severity import severity_of, severity_rank
from failproof_es.engine.preflight.spend_checks import price_line
from failproof_es.events import ModelSnapshot
from failproof_es.models.trust.permissions import models_of
from failproof_es.problems import Problem
from failproof_es.support.near_names import did_you_mean


def cost_gate_problems(
    configuration: Configuration, models: Sequence[ModelSnapshot], prices: Prices
) -> Iterator[Problem]:
    """An error for each model and judge without a price, if a gate judges the cost.

    `models` are the recorded models, then the judges, in configuration order; `prices` are by
    their keys.
    """
    if configuration.gates.max_cost_usd is None:
        return
    listed = [price.model for price in configuration.prices.models]
    fields: set[str] = set()  # variants of a matrix have one
    for (field, model), snapshot in zip(models_of(configuration), models, strict=True):
        price = prices.get(snapshot.key)
        if field not in fields and (price is None or not price.rates):
            fields.add(field)
            near = get_close_matches(model.model, listed, n=1)
            hint = f"correct the name {near[0]!r} in `prices`, or " if near else ""
            yield Problem(
                "price-unknown",
                f"the price of {model.model} is not known, so the gate `gates.max_cost_usd` cannot "
                "be met",
                field=f"{field}.model",
                remedy=f"{hint}give its prices: {price_line(model)}, or remove the gate",
            )


def unused_prices(configuration: Configuration) -> Iterator[Problem]:
    """A warning for each entry of `prices.models` that is for no model and no judge.

    Nothing if the prices are those of a file, which may be for other runs, too, or if
    `selection.models` leaves models out.
    """
    if configuration.prices.file is not None or configuration.selection.models:
        return
    models = [model for _, model in models_of(configuration)]
    for at, price in enumerate(configuration.prices.models):
        named = [model for model in models if model.model == price.model]
        field = f"prices.models[{at}]"
        if not named:
            names = list(dict.fromkeys(model.model for model in models))
            yield Problem(
                "unused-price",
                f"no model and no judge is named {price.model!r}",
                field=f"{field}.model",
                remedy=f"{did_you_mean(price.model, names)}there are: {', '.join(names)}",
                severity="warning",
            )
        elif not any(_is_behind(model.base_url, price) for model in named):
            yield Problem(
                "unused-price",
                f"no model {price.model!r} has this server, so the price is not used",
                field=f"{field}.base_url",
                remedy="write the `base_url` of the model, or none",
                severity="warning",
            )


def _is_behind(base_url: str | None, price: ModelPrice) -> bool:
    behind = price.base_url
    return behind is None or base_url is None or behind.rstrip("/") == base_url.rstrip("/")


class UnmeasuredGates:
    """Finds gates on suites and severities of which no case is asked. Pass every asked case."""

    def __init__(self, gates: Gates) -> None:
        self._suites = dict.fromkeys(gates.min_accuracy_by_suite or ())
        self._severities = dict.fromkeys(gates.no_failures_at or ())
        self._asked_suites: set[str] = set()
        self._asked_severities: set[int] = set()

    def add(self, case: Case) -> None:
        """Take the next case into account."""
        self._asked_suites.add(case.suite_id)
        self._asked_severities.add(severity_rank(severity_of(case)))

    def warnings(self) -> Iterator[Problem]:
        """A warning for each such gate; call it after the last `add`."""
        for suite in self._suites:
            if suite not in self._asked_suites:
                near = did_you_mean(suite, sorted(self._asked_suites))
                yield self._warning(
                    f"gates.min_accuracy_by_suite.{suite}", f"suite {suite!r}", near
                )
        if self._severities and self._asked_severities.isdisjoint(
            map(severity_rank, self._severities)
        ):
            named = " or ".join(self._severities)
            yield self._warning("gates.no_failures_at", f"severity {named}", "")

    def _warning(self, field: str, of_what: str, near: str) -> Problem:
        message = f"no case of the {of_what} is asked, so nothing measures this gate: it is not met"
        remedy = f"{near}ask such cases, or remove the gate"
        return Problem("not-measurable", message, field=field, remedy=remedy, severity="warning")
