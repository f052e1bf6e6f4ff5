"""The database and Python compute one cost from the prices that a run recorded."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal

import orjson
import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from failproof_es.core.costs import cost_usd
from failproof_es.core.run import Run, fold_run
from failproof_es.events import ModelPrices, PricesRecorded, TokenPrices, Usage
from failproof_es.store.store import Store
from tests.examples import examples
from tests.unit.cli.samples import NOON, RUN, started

BASE = datetime(2026, 1, 1, tzinfo=UTC)
Connection = psycopg.Connection[tuple[object, ...]]

prices_of_tokens = st.none() | st.decimals(0, 1_000, places=12, allow_nan=False)
rates = st.builds(
    TokenPrices,
    since=st.none() | st.dates(date(2025, 12, 30), date(2026, 1, 5)),
    daily_from=st.none() | st.times(),
    daily_until=st.none() | st.times(),
    over_input_tokens=st.none() | st.integers(0, 300),
    input=prices_of_tokens,
    cached_input=prices_of_tokens,
    cache_write=prices_of_tokens,
    cache_write_1h=prices_of_tokens,
    output=prices_of_tokens,
    request=st.decimals(0, 1, places=6),
)
model_prices = st.lists(rates, max_size=5).map(
    lambda found: ModelPrices(model_key="m", source="s", rates=tuple(found))
)
tokens = st.none() | st.integers(0, 400) | st.integers(0, 10**9)
usages = st.builds(
    Usage, input_tokens=tokens, output_tokens=tokens, cached_input_tokens=tokens,
    cache_write_tokens=tokens, cache_write_1h_tokens=tokens,
)  # fmt: skip
moments = st.timedeltas(timedelta(days=-3), timedelta(days=6)).map(lambda since: BASE + since)


@pytest.fixture
def connection(store: Store) -> Iterator[Connection]:
    with store.connect() as connection:
        yield connection


def in_sql(
    connection: Connection, prices: ModelPrices, usage: Usage, moment: datetime
) -> Decimal | None:
    row = connection.execute(
        "SELECT failproof.cost_usd(%s::json, %s::json, %s)",
        (prices.model_dump_json(), usage.model_dump_json(), moment),
    ).fetchone()
    assert row is not None
    assert row[0] is None or isinstance(row[0], Decimal)
    return row[0]


@settings(max_examples=examples(4), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(prices=model_prices, usage=usages, moment=moments)
def test_the_database_and_python_say_the_same_of_every_answer(
    connection: Connection, prices: ModelPrices, usage: Usage, moment: datetime
) -> None:
    assert in_sql(connection, prices, usage, moment) == cost_usd(prices, usage, moment)


@pytest.mark.slow
@settings(max_examples=examples(2), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(prices=model_prices.filter(lambda found: bool(found.rates)), data=st.data())
def test_they_say_the_same_at_every_boundary(
    connection: Connection, prices: ModelPrices, data: st.DataObject
) -> None:
    """Sizes and times right at, before and after a condition, with every price known."""
    known = {
        name: Decimal("1.5") for name in ("input", "cached_input", "cache_write", "cache_write_1h",
                                          "output")
    }  # fmt: skip
    told = tuple(
        each.model_copy(update={name: price * (place + 1) for name, price in known.items()})
        for place, each in enumerate((TokenPrices(), *prices.rates))
    )
    prices = prices.model_copy(update={"rates": told})
    rate = data.draw(st.sampled_from(told))
    size = (rate.over_input_tokens or 0) + data.draw(st.integers(0, 1))
    day, clock = rate.since or BASE.date(), rate.daily_from or rate.daily_until or time(0)
    off = timedelta(microseconds=data.draw(st.integers(-1, 1)))
    moment = datetime.combine(day, clock, UTC) + off
    usage = Usage(input_tokens=size, output_tokens=1, cached_input_tokens=size // 2)
    here = cost_usd(prices, usage, moment)
    assert here is not None and in_sql(connection, prices, usage, moment) == here


def recorded(store: Store, *models: ModelPrices, version: int = 2) -> None:
    store.log.events.put(
        [
            PricesRecorded(
                originator_id=RUN, originator_version=version, run_id=RUN, timestamp=NOON,
                models=models,
            )
        ]
    )  # fmt: skip


PRICED = ModelPrices(
    model_key="odd \x00 \\u0000 \\",
    source="price list of 2026-11-01",
    listed_as="m",
    rates=(
        TokenPrices(input=Decimal("1.25"), cached_input=Decimal("0.5"), output=Decimal(2)),
        TokenPrices(over_input_tokens=9, input=Decimal("2.5"), output=Decimal(4)),
    ),
)


def test_the_price_list_tells_what_was_recorded_first_and_leaves_out_what_is_unknown(
    store: Store, connection: Connection
) -> None:
    recorded(store, PRICED, ModelPrices(model_key="unknown"))
    dearer = PRICED.model_copy(update={"rates": (TokenPrices(input=Decimal(9)),)})
    recorded(store, dearer, version=3)
    rows = connection.execute(
        "SELECT run_id, input_usd_per_million, cached_input_usd_per_million, "
        "output_usd_per_million, price_version, prices FROM failproof.price_list"
    ).fetchall()
    assert len(rows) == 1
    assert rows[0][:5] == (
        RUN, Decimal("1.25"), Decimal("0.5"), Decimal(2), "price list of 2026-11-01"
    )  # fmt: skip
    assert ModelPrices.model_validate(rows[0][5]).rates == PRICED.rates


def test_a_run_has_its_prices_once() -> None:
    first = started("a", planned=1)
    prices = PricesRecorded(
        originator_id=RUN, originator_version=2, run_id=RUN, timestamp=NOON, models=(PRICED,)
    )
    run: Run = fold_run([first, prices])
    assert run.prices == {PRICED.model_key: PRICED}
    again = prices.model_copy(update={"originator_version": 3})
    with pytest.raises(Exception, match="holds PricesRecorded already"):
        fold_run([first, prices, again])


def test_prices_are_recorded_to_the_last_digit() -> None:
    exact = Decimal("0.123456789012345678901234567890")
    rate = TokenPrices(input=exact, request=Decimal("1E-30"))
    assert TokenPrices.model_validate(orjson.loads(rate.model_dump_json())) == rate
