"""A price that is for no model is a warning before anything is sent."""

from __future__ import annotations

from typing import Any

import pytest

from failproof_es.configuration.gates_section import Gates
from failproof_es.configuration.schema import Configuration
from failproof_es.core.case import Case
from failproof_es.engine.preflight.gate_checks import UnmeasuredGates, unused_prices
from failproof_es.engine.preflight.parameter_checks import misspelt_parameters

HOST = "http://localhost:1/v1"


def configuration(base_url: str | None, price: dict[str, Any], **rest: Any) -> Configuration:
    model = {"provider": "openai", "model": "m", "api_key_env": "KEY"}
    rates = {"input_usd_per_million": 1, "output_usd_per_million": 1}
    document = {
        "test_run": {"name": "r"},
        "models": [model if base_url is None else {**model, "base_url": base_url}],
        "prompts": {"path": "p.jsonl", "dialect": "benchmark"},
        "prices": {"version": "2026-11-01", "models": [{**rates, **price}]},
    }
    return Configuration.model_validate({**document, **rest})


@pytest.mark.parametrize(
    ("base_url", "price", "field"),
    [
        (HOST, {"model": "m"}, None),
        (HOST, {"model": "m", "base_url": f"{HOST}/"}, None),
        (None, {"model": "m", "base_url": HOST}, None),  # the provider's own, whatever it is
        (HOST, {"model": "m", "base_url": "http://localhost:2/v1"}, "prices.models[0].base_url"),
        (HOST, {"model": "n"}, "prices.models[0].model"),
    ],
)
def test_a_price_of_another_name_or_server_is_not_used(
    base_url: str | None, price: dict[str, Any], field: str | None
) -> None:
    warnings = list(unused_prices(configuration(base_url, price)))
    assert [(warning.field, warning.severity) for warning in warnings] == (
        [] if field is None else [(field, "warning")]
    )


def test_a_price_of_a_model_that_the_selection_leaves_out_is_no_mistake() -> None:
    chosen = configuration(HOST, {"model": "n"}, selection={"models": ["m"]})
    assert list(unused_prices(chosen)) == []


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("temprature", "`temperature`"),
        ("tempreature", "`temperature`"),
        ("max_token", "`max_tokens`"),
        ("seeds", "`seed`"),
        ("frequency_penality", "`frequency_penalty`"),
        ("top_k", None),
        ("stop", None),
        ("max_completion_tokens", None),
        ("temp", None),
    ],
)
def test_a_parameter_with_almost_a_common_name_is_a_warning(name: str, meant: str | None) -> None:
    asked = configuration(HOST, {"model": "m"}, matrix={"parameters": {name: [1, 2]}})
    model = asked.models[0].model_copy(update={"parameters": {name: 1}})
    alone = asked.model_copy(update={"models": [model], "matrix": None})
    for place, document in (
        ("matrix.parameters", asked.model_copy(update={"models": [model, model]})),
        ("models[0].parameters", alone),
    ):
        warnings = [(w.field, w.severity, w.remedy) for w in misspelt_parameters(document)]
        expected = [(f"{place}.{name}", "warning", f"did you mean {meant}?")]
        assert warnings == (expected if meant else [])


@pytest.mark.parametrize(("word", "is_measured"), [("critical", True), ("high", False)])
def test_a_gate_on_a_severity_is_measured_by_every_word_of_it(word: str, is_measured: bool) -> None:
    gates = UnmeasuredGates(Gates.model_validate({"no_failures_at": ["S0"]}))
    tags = (f"severity:{word}",)
    gates.add(Case(dialect="checks", case_id="c", suite_id="s", turns=(), tags=tags))
    assert (not list(gates.warnings())) is is_measured
