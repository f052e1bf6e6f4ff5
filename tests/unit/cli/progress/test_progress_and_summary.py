"""Live progress and the summary of the same events are the same numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from decimal import Decimal
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from failproof_es.cli.progress.state import ProgressState
from failproof_es.core.evaluation import EvaluationKey
from failproof_es.core.outcome import outcome_of
from failproof_es.core.run import Run
from failproof_es.core.summary import RunCounts, RunSummary
from failproof_es.engine.history import RecordedEvaluation
from failproof_es.events import (
    CarriedOver,
    EvaluationAbandoned,
    EvaluationEvent,
    ModelPrices,
    Scored,
    TokenPrices,
)
from tests.unit.cli.samples import started
from tests.unit.histories import RUN, a_case, lived

MODELS = ("a", "b")
RATE = TokenPrices(input=Decimal("0.1"), output=Decimal(2))
PRICES = {key: ModelPrices(model_key=key, source="list", rates=(RATE,)) for key in (*MODELS, "j1")}
"""Of the judge `j2` no price is on record."""

OUTCOMES = ("answer", "nonsense", "another model", "transient", "deferred", "final", "killed")

Events = Sequence[EvaluationEvent]
Runs = tuple[dict[EvaluationKey, Events], list[EvaluationEvent], dict[EvaluationKey, CarriedOver]]


@st.composite
def runs(draw: st.DrawFn) -> Runs:
    """The histories of some evaluations, as far as they came, and what this run says of them.

    Of what was carried over from another run it says no more than that.
    """
    histories: dict[EvaluationKey, Events] = {}
    carried: dict[EvaluationKey, CarriedOver] = {}
    for number in range(draw(st.integers(1, 5))):
        outcomes = draw(st.lists(st.sampled_from(OUTCOMES), max_size=8))
        judges = draw(st.sampled_from([(), ("j1",), ("j1", "j2")]))
        events = lived(("hello",), judges, outcomes, retries=1, readings=1)
        events = events[: draw(st.integers(0, len(events) + 3))]
        prompt, model = UUID(int=number // 2 + 10), draw(st.sampled_from(MODELS))
        key = EvaluationKey(RUN, prompt, model, number % 2 + 1)
        placed = {"originator_id": key.evaluation_id, **asdict(key)}
        histories[key] = [each.model_copy(update=placed) for each in events]
        ended = events and isinstance(events[-1], Scored | EvaluationAbandoned)
        if ended and draw(st.booleans()):
            own = events[0].model_dump(include=set(EvaluationEvent.model_fields)) | placed
            carried[key] = CarriedOver(
                **own, source_run_id=UUID(int=8), source_evaluation_id=UUID(int=9),
                source_events=len(events), source_sha256="0" * 64,
            )  # fmt: skip
    said = {key: [carried[key]] if key in carried else events for key, events in histories.items()}
    left: list[list[EvaluationEvent]] = [list(events) for events in said.values() if events]
    mixed: list[EvaluationEvent] = []
    while left:
        place = draw(st.integers(0, len(left) - 1))
        mixed.append(left[place].pop(0))
        left = [events for events in left if events]
    return histories, mixed, carried


@given(runs())
def test_what_is_shown_live_is_what_the_summary_says(
    run: Runs,
) -> None:
    histories, mixed, carried = run
    manifest = started(*MODELS, planned=10)
    state = ProgressState()
    state.observe(manifest)
    state.use_prices(PRICES)
    for event in mixed:
        state.observe(event)
        if isinstance(event, CarriedOver):
            key = next(each for each, own in carried.items() if own is event)
            state.carry_over(RecordedEvaluation(key, a_case(), histories[key], event))
    counts = RunCounts()
    for key, events in histories.items():
        counts.add(outcome_of(key, events, PRICES, carried_over=carried.get(key)), a_case())
    summary = RunSummary(run=Run(manifest=manifest, prices=PRICES), counts=counts)
    assert counts.impossible == 0
    assert (state.planned, state.finished) == (summary.planned, summary.total.finished)
    assert state.total.group == summary.total
    assert state.total.spent == summary.spent
    for model in MODELS:
        row, asking = state.models[model], summary.asking(model)
        assert row.group == summary.group(model=model)
        assert len(row.in_flight) == asking.in_flight
        row.asking.in_flight = asking.in_flight
        assert row.asking == asking
