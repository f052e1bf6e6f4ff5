"""Money is shown where a price is known, and nowhere else."""

from __future__ import annotations

import pytest

from failproof_es.cli.pricing import price_of, rates_of
from failproof_es.events import ModelSnapshot, RunStarted, Usage
from failproof_es.models.prices import cost_usd
from tests.unit.cli.samples import NOON, started

FREE = {"input_usd_per_million": 0.0, "output_usd_per_million": 0.0}
OPENAI = {"base_url": "https://api.openai.com/v1"}
KNOWN = ModelSnapshot(key="known", provider="openai", model="gpt-4o-mini", settings=OPENAI)
ELSEWHERE = ModelSnapshot(key="elsewhere", provider="openai", model="gpt-4o-mini")


def run_of(*models: ModelSnapshot) -> RunStarted:
    return started("x", planned=1).model_copy(update={"models": models})


@pytest.mark.parametrize(
    "usage",
    [
        Usage(input_tokens=1000, output_tokens=200),
        Usage(input_tokens=1000, output_tokens=200, cached_input_tokens=400),
    ],
)
def test_an_answer_costs_what_the_price_book_says(usage: Usage) -> None:
    expected = cost_usd(KNOWN, usage, NOON)
    assert expected is not None
    assert price_of(run_of(KNOWN))("known", usage) == pytest.approx(float(expected))


def test_a_model_on_another_server_has_no_known_price() -> None:
    usage = Usage(input_tokens=1, output_tokens=1)
    assert price_of(run_of(ELSEWHERE))("elsewhere", usage) is None


def test_a_runs_own_price_list_comes_first_and_says_its_day() -> None:
    listed = [
        {"model": "gpt-4o-mini", "base_url": "http://else/v1", **FREE},
        {"model": "gpt-4o-mini", "input_usd_per_million": 2, "output_usd_per_million": 3},
    ]
    prices = {"prices": {"version": "2026-11-01", "models": listed}}
    run = run_of(KNOWN, ELSEWHERE).model_copy(update={"configuration": prices})
    usage = Usage(input_tokens=1_000_000, output_tokens=1_000_000, cached_input_tokens=500_000)
    for key in ("known", "elsewhere"):
        assert price_of(run)(key, usage) == pytest.approx(5.0)
        assert rates_of(run)[key].version == "price list of 2026-11-01"
    assert rates_of(run_of(KNOWN))["known"].version.startswith("genai-prices ")


def test_a_model_that_is_listed_for_nothing_costs_nothing_which_is_not_unknown() -> None:
    listed = [{"model": "gpt-4o-mini", **FREE}]
    prices = {"prices": {"version": "2026-11-01", "models": listed}}
    run = run_of(ELSEWHERE).model_copy(update={"configuration": prices})
    assert price_of(run)("elsewhere", Usage(input_tokens=9, output_tokens=9)) == 0.0
    assert price_of(run)("elsewhere", Usage(input_tokens=9)) is None


def test_an_answer_whose_tokens_were_not_counted_has_no_known_price() -> None:
    assert price_of(run_of(KNOWN))("known", Usage(input_tokens=1)) is None
