"""Money is shown where a price is known, and nowhere else."""

from __future__ import annotations

import pytest

from failproof_es.cli.pricing import price_of
from failproof_es.events import ModelSnapshot, RunStarted, Usage
from failproof_es.models.prices import cost_usd
from tests.unit.cli.samples import NOON, started

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


def test_an_answer_whose_tokens_were_not_counted_has_no_known_price() -> None:
    assert price_of(run_of(KNOWN))("known", Usage(input_tokens=1)) is None
