"""Every kind of damage to a valid history is found, unless what is left is another valid one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from failproof_es.core.evaluation import EvaluationKey, ImpossibleHistory, fold
from failproof_es.events import (
    VOIDS_ANSWER,
    ErrorRecorded,
    EvaluationAbandoned,
    EvaluationEvent,
    Event,
    RequestSent,
    ResponseReceived,
    Scored,
)
from tests.unit.core.damage import DAMAGES, OTHER_RUN
from tests.unit.event_samples import SAMPLES
from tests.unit.histories import KEY, History, lived

RETRIES = 2
OUTCOMES = (
    "answer", "answer", "nonsense", "another model", "transient", "deferred", "final", "halting",
    "killed",
)  # fmt: skip
World = tuple[tuple[str, ...], tuple[str, ...], list[str]]


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """A case, who judges it, and what the world does at each request."""
    turns = tuple(draw(st.lists(st.sampled_from(["a", "b"]), min_size=1, max_size=3)))
    judges = draw(st.sampled_from([(), ("j1",), ("j1", "j2", "j3")]))
    return turns, judges, draw(st.lists(st.sampled_from(OUTCOMES), min_size=1, max_size=20))


def asked(event: Event) -> tuple[Any, ...]:
    """What an event says that decides what may follow."""
    said = event.model_dump(exclude={"timestamp", "text"})
    return type(event).__name__, *sorted((name, repr(value)) for name, value in said.items())


def relived(events: Sequence[EvaluationEvent], turns: int, judges: tuple[str, ...]) -> bool:
    """Whether the engine could have recorded this: it meets the same world again, and does.

    How many turns, judges, retries and readings there are is the configuration's, and nothing
    that a history knows of itself: any is tried.
    """
    outcomes: list[str] = []
    for event in events:
        if isinstance(event, RequestSent):
            outcomes.append("killed")
        elif isinstance(event, ResponseReceived) and outcomes:
            outcomes[-1] = "answer" if event.text == "answer" else "nonsense"
        elif isinstance(event, ErrorRecorded) and outcomes:
            outcomes[-1] = "another model" if event.kind == VOIDS_ANSWER else event.disposition
    wanted = [asked(event) for event in events]
    return any(
        [
            asked(event)
            for event in lived(
                ("a",) * n, judges[:some], outcomes, retries=retries, readings=readings
            )
        ][: len(wanted)]
        == wanted
        for n in range(1, turns + 2)
        for some in range(len(judges) + 1)
        for retries in range(len(outcomes) + 1)
        for readings in (1, 2, 3)
    )


def refused(events: Sequence[Event]) -> ImpossibleHistory | None:
    try:
        fold(events)
    except ImpossibleHistory as error:
        return error
    return None


@given(worlds(), st.sampled_from(DAMAGES), st.integers(0, 60), st.integers(0, 60))
def test_damage_is_found_unless_it_leaves_another_valid_history(
    world: World, damage: Callable[..., list[EvaluationEvent]], at: int, to: int
) -> None:
    turns, judges, _ = world
    events = lived(*world, retries=RETRIES)
    assert refused(events) is None
    damaged = damage(events, at % len(events), to % (len(events) + 1))
    error = refused(damaged)
    if error is not None:
        assert error.version is not None and error.topic and error.rule
    else:
        assert relived(damaged, len(turns), judges), [type(each).__name__ for each in damaged]


REFERENCES: dict[str, Any] = {
    "originator_id": UUID(int=99),
    "run_id": OTHER_RUN,
    "prompt_id": UUID(int=98),
    "model_key": "another",
    "repetition": 2,
    "turn": 7,
    "attempt": 9,
    "judge": "another",
    "originator_version": 40,
}


@given(worlds(), st.sampled_from(sorted(REFERENCES)), st.integers(0, 60))
def test_an_event_that_refers_to_another_evaluation_turn_attempt_or_judge_is_found(
    world: World, field: str, at: int
) -> None:
    events = lived(*world, retries=RETRIES)
    having = [n for n, event in enumerate(events) if hasattr(event, field)]
    place = having[at % len(having)] if having else None
    if place is None:
        return
    events[place] = events[place].model_copy(update={field: REFERENCES[field]})
    error = refused(events)
    if error is None:  # a judge that gave nothing yet may have any name
        assert field == "judge" and isinstance(events[-1], RequestSent)
        return
    assert error.version in (place + 1, place + 2, REFERENCES["originator_version"])


@given(worlds(), st.integers(0, 60))
def test_an_event_of_another_run_is_found_wherever_it_is_put(world: World, at: int) -> None:
    events = lived(*world, retries=RETRIES)
    key = EvaluationKey(OTHER_RUN, KEY.prompt_id, KEY.model_key, 1)
    place = at % len(events)
    own = {"run_id": OTHER_RUN, "originator_id": key.evaluation_id}
    alien = [*events[:place], events[place].model_copy(update=own), *events[place + 1 :]]
    found = refused(alien)
    assert found is not None or len(events) == 1


@given(worlds(), st.sampled_from(SAMPLES))
def test_nothing_follows_the_final_event(world: World, sample: Event) -> None:
    events: list[Event] = list(lived(*world, retries=RETRIES))
    if not isinstance(events[-1], Scored | EvaluationAbandoned):
        return
    version = len(events) + 1
    last = {name: getattr(events[-1], name) for name in EvaluationEvent.model_fields}
    own = {name: value for name, value in last.items() if hasattr(sample, name)}
    events.append(sample.model_copy(update={**own, "originator_version": version}))
    error = refused(events)
    assert error is not None and error.version == version
    if isinstance(sample, EvaluationEvent):
        assert error.rule == "the evaluation has its final event already"


SCORED = History().sent().answered().classified().scored().events


@pytest.mark.parametrize(
    ("history", "rule"),
    [
        (History().scored(), "nothing is classified"),
        (History().sent().answered().scored(), "nothing is classified"),
        (History().sent().answered().classified().classified(), "classified already"),
        (History().classified().scored(), "does not follow an answer"),
        (History().sent().lost().classified(), "does not follow an answer"),
        (History().sent().answered(turn=1), "its turn is 1, and must be 0"),
        (History().sent().answered(attempt=2), "its attempt is 2, and must be 1"),
        (History().sent().failed().sent(1), "its attempt is 1, and must be 2"),
        (History().sent().answered(purpose="judge"), "its purpose is judge"),
        (History().sent().lost(attempt=2), "its attempt is 2"),
        (History().failed(), "no request is in flight"),
        (History().sent().answered().failed(), "no request is in flight"),
        (History().sent().failed(disposition="final").sent(2), "an error that is final"),
        (History().sent().failed(disposition="final").classified().scored(), "ended in an error"),
        (
            History().sent().failed(disposition="final").classified().abandoned("other"),
            "its kind is other, that of the error is timeout",
        ),
        (History().sent().answered().classified().sent(), "its turn is 0"),
        (History().sent().answered().classified().sent(turn=1), "classified already"),
        (History().sent(turn=0, purpose="judge"), "nothing is classified"),
        (History().sent().answered().judged("j1", {"pass": True}), "what this judge answered"),
    ],
)
def test_an_impossible_event_is_named_with_its_place_and_the_rule(
    history: History, rule: str
) -> None:
    error = refused(history.events)
    assert error is not None and rule in str(error)
    assert f"{error.topic} cannot be event {error.version}" in str(error)
    assert type(history.events[error.version - 1]).__name__ == error.topic  # type: ignore[operator]


def test_a_judge_is_held_to_what_it_was_asked() -> None:
    def base() -> History:
        return History().sent().answered().classified().asked_judge("j1", "yes")

    verdict = {"pass": True}
    whole = base().judged("j1", verdict).asked_judge("j2", "no").judged("j2", verdict).scored()
    assert refused(whole.events) is None
    for history, rule in (
        (base().judged("j2", verdict), "does not follow what this judge answered"),
        (base().scored(), "does not follow a classification"),
        (base().asked_judge("j1", "yes", 2), "was not read"),
        (base().judged("j1", verdict).asked_judge("j1", "yes"), "has said its last word"),
        (base().judged("j1", None, final=False).asked_judge("j2", "x", 2), "judge j1 is asked"),
        (base().judged("j1", None, final=False).scored(), "a last verdict"),
        (base().judged("j1", verdict, final=False), "gives a verdict, and is not final"),
        (base().judged("j1", None).scored(), "not one judge gave a verdict"),
        (base().judged("j1", verdict).judged("j1", verdict), "what this judge answered"),
    ):
        error = refused(history.events)
        assert error is not None and rule in str(error), rule


def test_a_verdict_of_a_program_stands_for_those_of_all_judges() -> None:
    def given_outside(history: History, **more: Any) -> History:
        history.judged("alice", {"pass": True})
        said = {"grader": "alice", **more}
        history.events[-1] = history.events[-1].model_copy(update=said)
        return history

    waiting = History().sent().answered().classified()
    assert refused(given_outside(waiting).scored().events) is None
    asked = History().sent().answered().classified().sent(turn=1, purpose="judge")
    assert refused(given_outside(asked).events) is not None, "a request is in flight"
    lost = History().sent().answered().classified().sent(turn=1, purpose="judge")
    lost.lost(turn=1, purpose="judge")
    assert refused(given_outside(lost).scored().events) is None
    early = given_outside(History().sent().answered())
    assert refused(early.events) is not None
