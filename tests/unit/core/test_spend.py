"""The arithmetic of a spend ceiling: bounds, charges, and a budget that is never exceeded."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from decimal import ROUND_DOWN, Decimal
from typing import Any
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as some

from failproof_es.core.costs import Spent, answer_cost, cost_usd
from failproof_es.core.run import Run
from failproof_es.core.spend import (
    HIDDEN_INPUT_TOKENS,
    Charge,
    RunBudget,
    SpendState,
    ceiling_of,
    charge_of,
    costs_nothing,
    is_bounded,
    most_output_tokens,
    most_usd,
    spending_of,
    usd_text,
    worst_case,
)
from failproof_es.events import (
    VOIDS_ANSWER,
    AttemptOrphaned,
    ErrorRecorded,
    ModelPrices,
    RequestSent,
    ResponseReceived,
    RunStarted,
    SpendCeilingChanged,
    TokenPrices,
    Usage,
)
from tests.every import every
from tests.unit.event_samples import SAMPLES

READ_AND_WRITTEN = ("input", "cached_input", "cache_write", "cache_write_1h", "output")
WHEN = datetime(2026, 11, 23, 12, tzinfo=UTC)
OF: dict[str, Any] = {
    "originator_id": UUID(int=1), "originator_version": 1, "run_id": UUID(int=2),
    "timestamp": WHEN, "prompt_id": UUID(int=3), "model_key": "m", "repetition": 1,
    "purpose": "target", "turn": 0, "attempt": 1,
}  # fmt: skip
PRICED = {
    "m": ModelPrices(model_key="m", rates=(TokenPrices(input=Decimal(1), output=Decimal(2)),)),
    "judge:j": ModelPrices(
        model_key="judge:j", rates=(TokenPrices(input=Decimal(3), output=Decimal(4)),)
    ),
}


def request(body: str = "{}", judge: str | None = None, **parameters: Any) -> RequestSent:
    return RequestSent(
        **OF, judge=judge, model="m", parameters={"max_tokens": 5, **parameters},
        endpoint="http://here/v1", body=body, body_sha256="",
    )  # fmt: skip


def answer(**usage: int | None) -> ResponseReceived:
    return ResponseReceived(
        **OF, status=200, headers={}, body="", text="", latency_ms=1.0, usage=Usage(**usage)
    )  # fmt: skip


def error(status: int | None, disposition: str = "transient", **more: Any) -> ErrorRecorded:
    fields = {"kind": "k", "message": "", "stack_trace": "", **more}
    return ErrorRecorded(**OF, status=status, disposition=disposition, **fields)


money = some.decimals(min_value=0, max_value=1_000, places=9)
prices = money | some.just(Decimal(0))
rates = some.builds(
    TokenPrices,
    over_input_tokens=some.none() | some.integers(0, 3_000),
    since=some.none() | some.sampled_from([date(2026, 1, 1), date(2027, 1, 1)]),
    daily_from=some.none() | some.just(time(11)),
    daily_until=some.none() | some.just(time(13)),
    input=prices,
    cached_input=prices,
    cache_write=prices,
    cache_write_1h=prices,
    output=prices,
    request=prices,
)


@given(
    rates=some.lists(rates, min_size=1, max_size=4),
    most=some.tuples(some.integers(0, 4_000), some.integers(0, 4_000)),
    shares=some.tuples(*[some.floats(0, 1)] * 5),
)
def test_no_answer_within_its_tokens_costs_more_than_its_worst_case(
    rates: list[TokenPrices], most: tuple[int, int], shares: tuple[float, ...]
) -> None:
    """Whatever is cached, whichever rate holds, and whether the prices of a cache are higher."""
    always = TokenPrices(**dict.fromkeys(READ_AND_WRITTEN, Decimal(1)))
    listed = ModelPrices(model_key="m", rates=(always, *rates))
    read, written = int(most[0] * shares[0]), int(most[1] * shares[1])
    cached = int(read * shares[2])
    stored = int((read - cached) * shares[3])
    usage = Usage(
        input_tokens=read, output_tokens=written, cached_input_tokens=cached,
        cache_write_tokens=stored, cache_write_1h_tokens=int(stored * shares[4]),
    )  # fmt: skip
    cost, bound = cost_usd(listed, usage, WHEN), most_usd(listed, *most)
    assert cost is not None and bound is not None
    assert cost <= bound


@given(some.text(max_size=200))
def test_a_token_stands_for_a_byte_at_least(text: str) -> None:
    """A tokenizer that gives every byte a token of its own is the worst that there can be."""
    body = request(text)
    tokens = len(text.encode()) + HIDDEN_INPUT_TOKENS
    worst = worst_case(PRICED, body)
    assert worst == cost_usd(PRICED["m"], Usage(input_tokens=tokens, output_tokens=5), WHEN)


def test_a_judge_is_priced_as_itself() -> None:
    asked = worst_case(PRICED, request(judge="judge:j"))
    assert asked == (Decimal(3) * (2 + HIDDEN_INPUT_TOKENS) + 4 * 5) / 1_000_000


@every(
    ("parameters", "most"),
    [
        ({"max_tokens": 5}, 5),
        ({"max_tokens": 5, "max_completion_tokens": 7}, 7),
        ({"max_tokens": 5, "thinking": {"type": "enabled", "budget_tokens": 100}}, 105),
        ({"max_tokens": 5, "reasoning": {"max_tokens": 50}}, 55),
        ({"max_tokens": 5, "n": 3}, 15),
        ({"max_tokens": 5, "n": 2, "best_of": 4}, 20),
        ({"max_tokens": 0}, 0),
        ({"max_tokens": None}, None),
        ({"max_tokens": -1}, None),
        ({"max_tokens": 1.5}, None),
        ({}, None),
        ({"max_tokens": 5, "web_search_options": {}}, None),
        ({"max_tokens": 5, "tools": []}, None),
        ({"max_tokens": 5, "stop": ["x"], "top_p": 0.5}, 5),
    ],
)
def test_what_bounds_the_tokens_of_an_answer(parameters: dict[str, Any], most: int | None) -> None:
    assert most_output_tokens(parameters) == most


@every(
    ("listed", "bounded"),
    [
        (None, False),
        (ModelPrices(model_key="m"), False),
        (PRICED["m"], True),
        (
            ModelPrices(model_key="m", rates=(TokenPrices(input=Decimal(0), output=Decimal(0)),)),
            True,
        ),
        (ModelPrices(model_key="m", rates=(TokenPrices(input=Decimal(1)),)), False),
        (
            ModelPrices(model_key="m", rates=(*PRICED["m"].rates, TokenPrices(output=Decimal(1)))),
            False,
        ),
    ],
)
def test_which_prices_bound_a_request(listed: ModelPrices | None, bounded: bool) -> None:
    assert is_bounded(listed) is bounded
    assert (worst_case({} if listed is None else {"m": listed}, request()) is not None) is bounded


def test_an_answer_is_charged_what_it_cost_and_one_without_usage_its_worst_case() -> None:
    worst = Decimal("0.5")
    told = answer(input_tokens=3, output_tokens=2)
    assert charge_of(PRICED, worst, told) == Charge(Decimal("0.000007"), is_known=True)
    assert charge_of(PRICED, worst, told).usd == answer_cost(PRICED, told)
    for untold in (answer(), answer(input_tokens=3), answer(input_tokens=1, output_tokens=1,
                   cached_input_tokens=2)):  # fmt: skip
        assert charge_of(PRICED, worst, untold) == Charge(worst, is_known=False)
    beyond = charge_of(PRICED, Decimal("0.000006"), told)
    assert beyond.is_known and beyond.beyond and beyond.usd == Decimal("0.000007")


def test_a_lost_attempt_is_charged_its_worst_case() -> None:
    lost = AttemptOrphaned(**OF, reason="killed")
    assert charge_of(PRICED, Decimal(1), lost) == Charge(Decimal(1), is_known=False)


@every(
    ("failed", "nothing"),
    [
        (error(429, "deferred"), True),
        (error(503, "deferred"), True),
        (error(502, "deferred"), False),
        (error(400, "final"), True),
        (error(401, "halting"), True),
        (error(408), False),
        (error(499), False),
        (error(500), False),
        (error(503), False),
        (error(200, kind="malformed_response"), False),
        (error(None, kind="timeout"), False),
        (error(None, kind="connection"), True),
        (error(None, kind="connection", latency_ms=3.0), False),
        (error(None, kind="client_exception"), False),
    ],
)
def test_which_errors_cost_nothing(failed: ErrorRecorded, nothing: bool) -> None:
    assert costs_nothing(failed) is nothing
    charged = charge_of(PRICED, Decimal(1), failed)
    assert charged == (Charge(Decimal(0), is_known=True) if nothing else Charge(Decimal(1), False))
    counted = spending_of([request(), failed], PRICED)
    assert [spent.possibly_charged for _, spent in counted] == ([] if nothing else [1])


def test_a_request_without_a_known_cost_counts_with_its_worst_case_and_nothing_else() -> None:
    sent, worst = request(), worst_case(PRICED, request())
    assert worst is not None
    lost = AttemptOrphaned(**OF, reason="killed")
    unpriced, priced = answer(), answer(input_tokens=3, output_tokens=2)
    voids = error(200, kind=VOIDS_ANSWER)
    for history, expected in (
        ([sent, lost], Spent(possibly_charged=1, possible_usd=worst)),
        ([sent], Spent(possibly_charged=1, possible_usd=worst)),
        ([sent, unpriced], Spent.of(unpriced.usage, None).bounded(worst)),
        ([sent, priced, voids], Spent.of(priced.usage, answer_cost(PRICED, priced))),
    ):
        assert [spent for _, spent in spending_of(history, PRICED)] == [expected]
    assert [spent.unbounded for _, spent in spending_of([sent, lost], {})] == [1]
    free = TokenPrices(input=Decimal(0), output=Decimal(0))
    assert spending_of([sent, lost], {"m": ModelPrices(model_key="m", rates=(free,))}) == []
    assert SpendState().charging(Charge(Decimal(0), is_known=False)) == SpendState()


steps = some.lists(
    some.tuples(some.booleans(), money, some.floats(0, 1), some.booleans()), max_size=40
)


@given(ceiling=money, recorded=money, steps=steps)
def test_what_is_spent_and_in_flight_never_exceeds_the_ceiling(
    ceiling: Decimal, recorded: Decimal, steps: list[tuple[bool, Decimal, float, bool]]
) -> None:
    """And whoever dies at any moment, counting all that is in flight as lost, is below it, too."""
    budget = RunBudget(ceiling, SpendState(known_usd=min(recorded, ceiling)))
    in_flight: list[Decimal] = []
    costs, kept = budget.spending.known_usd, Decimal(0)
    for sends, amount, share, known in steps:
        if sends or not in_flight:
            fits = costs + kept + sum(in_flight) + amount <= ceiling
            assert budget.reserve(amount) is fits
            if fits:
                in_flight.append(amount)
        else:
            worst = in_flight.pop()
            part = (worst * Decimal(share)).quantize(Decimal("1e-9"), ROUND_DOWN)
            cost = part if known else worst
            budget.settle(worst, Charge(cost, known))
            costs, kept = costs + cost * known, kept + cost * (not known)
        assert budget.spending.known_usd == costs and budget.spending.unknown == kept
        assert budget.spending.committed == costs + kept + sum(in_flight) <= ceiling


actions = some.lists(
    some.tuples(
        some.sampled_from(["send", "send", "answer", "record", "kill"]),
        some.integers(1, 50),
        some.integers(0, 100),
    ),
    max_size=60,
)


@given(ceiling=some.integers(0, 200), actions=actions)
def test_whatever_is_killed_when_the_log_never_holds_more_than_the_ceiling(
    ceiling: int, actions: list[tuple[str, int, int]]
) -> None:
    """A process sends, gets answers, and dies before they are durable; the next one reads the log.

    In the log a request stands with its worst case until its outcome does.
    """
    budget = RunBudget(Decimal(ceiling), SpendState())
    log: list[tuple[Decimal, Charge | None]] = []
    in_memory: dict[int, Charge] = {}
    for action, amount, percent in actions:
        waiting = [n for n, (_, charge) in enumerate(log) if charge is None]
        if action == "send" and budget.reserve(Decimal(amount)):
            log.append((Decimal(amount), None))
        elif action == "answer" and (open_ := [n for n in waiting if n not in in_memory]):
            cost = log[open_[0]][0] * percent / 100
            in_memory[open_[0]] = Charge(cost, is_known=percent % 7 != 0)
        elif action == "record" and in_memory:
            place, answered = in_memory.popitem()
            worst = log[place][0]
            outcome = answered if answered.is_known else Charge(worst, is_known=False)
            log[place] = worst, outcome
            budget.settle(worst, outcome)
        elif action == "kill":
            in_memory.clear()
            log = [(worst, charge or Charge(worst, is_known=False)) for worst, charge in log]
            spending = SpendState()
            for _, charge in log:
                assert charge is not None
                spending = spending.charging(charge)
            budget = RunBudget(Decimal(ceiling), spending)
        known = sum(charge.usd for _, charge in log if charge is not None and charge.is_known)
        open_or_unknown = sum(
            worst for worst, charge in log if charge is None or not charge.is_known
        )
        assert known + open_or_unknown <= ceiling
        assert budget.spending.committed == known + open_or_unknown


def test_a_ceiling_is_reached_exactly() -> None:
    budget = RunBudget(Decimal("0.3"), SpendState(known_usd=Decimal("0.1")))
    assert budget.reserve(Decimal("0.2")), "0.1 + 0.2 is 0.3, not a little more"
    assert not budget.reserve(Decimal("1e-30"))
    assert budget.reserve(Decimal(0))


def test_what_may_fit_later() -> None:
    budget = RunBudget(Decimal(1), SpendState())
    assert budget.reserve(Decimal("0.6"))
    assert not budget.reserve(Decimal("0.6")) and budget.may_fit_later(Decimal("0.6"))
    budget.settle(Decimal("0.6"), Charge(Decimal("0.5"), is_known=True))
    assert not budget.may_fit_later(Decimal("0.6")) and budget.may_fit_later(Decimal("0.5"))


def test_the_last_ceiling_that_was_set_holds() -> None:
    started = next(each for each in SAMPLES if isinstance(each, RunStarted)).model_copy(
        update={"configuration": {"execution": {"max_spend_usd": 0.1}}}
    )
    run = Run(manifest=started)
    assert ceiling_of(run) == Decimal("0.1")
    changed = SpendCeilingChanged(
        originator_id=UUID(int=2), originator_version=2, run_id=UUID(int=2), timestamp=WHEN,
        max_spend_usd=Decimal("0.25"), who="w", where="h",
    )  # fmt: skip
    assert ceiling_of(Run(manifest=started, spend_ceiling=changed)) == Decimal("0.25")
    for configuration in ({}, {"execution": None}, {"execution": {"max_spend_usd": None}}):
        older = started.model_copy(update={"configuration": configuration})
        assert ceiling_of(Run(manifest=older)) is None


@every(
    ("amount", "text"),
    [("1", "$1.00"), ("0.5", "$0.50"), ("1234.5", "$1,234.50"), ("1.2E-7", "$0.00000012"),
     ("1E+2", "$100.00"), ("0", "$0.00")],
)  # fmt: skip
def test_amounts_are_written_exactly(amount: str, text: str) -> None:
    assert usd_text(Decimal(amount)) == text
