"""Every kind of damage to a valid history is found, unless what is left is another valid one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from failproof_es.core.case import operations_id, review_id
from failproof_es.core.evaluation import EvaluationKey, ImpossibleHistory, fold
from failproof_es.core.run import fold_run
from failproof_es.core.side_streams import Operations, evolve_operations, next_review_version
from failproof_es.events import (
    VOIDS_ANSWER,
    ErrorRecorded,
    EvaluationAbandoned,
    EvaluationEvent,
    Event,
    RequestSent,
    ResponseReceived,
    Scored,
    topics,
)
from tests.unit.event_samples import SAMPLES
from tests.unit.histories import KEY, History, lived

RETRIES = 2
OUTCOMES = (
    "answer", "answer", "nonsense", "another model", "transient", "deferred", "final", "halting",
    "killed",
)  # fmt: skip
World = tuple[tuple[str, ...], tuple[str, ...], list[str]]
OTHER_RUN = UUID(int=77)


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """A case, who judges it, and what the world does at each request."""
    turns = tuple(draw(st.lists(st.sampled_from(["a", "b"]), min_size=1, max_size=3)))
    judges = draw(st.sampled_from([(), ("j1",), ("j1", "j2", "j3")]))
    return turns, judges, draw(st.lists(st.sampled_from(OUTCOMES), min_size=1, max_size=20))


def renumbered(events: Sequence[EvaluationEvent]) -> list[EvaluationEvent]:
    """As somebody would number them who hides that an event was put in or taken out."""
    return [
        event.model_copy(update={"originator_version": version})
        for version, event in enumerate(events, start=1)
    ]


def dropped(events: list[EvaluationEvent], at: int, _: int) -> list[EvaluationEvent]:
    return renumbered(events[:at] + events[at + 1 :])


def doubled(events: list[EvaluationEvent], at: int, _: int) -> list[EvaluationEvent]:
    return renumbered(events[: at + 1] + events[at:])


def copied(events: list[EvaluationEvent], at: int, to: int) -> list[EvaluationEvent]:
    return renumbered([*events[:to], events[at], *events[to:]])


def moved(events: list[EvaluationEvent], at: int, to: int) -> list[EvaluationEvent]:
    rest = events[:at] + events[at + 1 :]
    return renumbered([*rest[:to], events[at], *rest[to:]])


def swapped(events: list[EvaluationEvent], at: int, _: int) -> list[EvaluationEvent]:
    return renumbered([*events[:at], *events[at : at + 2][::-1], *events[at + 2 :]])


def gap(events: list[EvaluationEvent], at: int, _: int) -> list[EvaluationEvent]:
    return events[:at] + events[at + 1 :]


DAMAGES = (dropped, doubled, copied, moved, swapped, gap)


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


def test_the_one_judge_of_older_versions_was_read_without_an_event() -> None:
    def base() -> History:
        return History().sent().answered().classified()

    assert refused(base().asked_judge("judge", "yes").scored().events) is None
    failed = base().sent(turn=1, purpose="judge", judge="judge")
    failed.failed(disposition="final", turn=1, purpose="judge", judge="judge")
    assert refused(failed.abandoned("judge_failed").events) is None


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


# -- a run's own stream ----------------------------------------------------------------------

_OF = {type(event).__name__: event for event in SAMPLES}
RUN = UUID(int=5)


def run_stream(*kinds: str) -> list[Event]:
    """The sample events of these kinds as one run's stream."""
    events: list[Event] = []
    for version, kind in enumerate(kinds, start=1):
        own: dict[str, Any] = {
            "originator_id": RUN, "run_id": RUN, "originator_version": version,
        }  # fmt: skip
        event = _OF[kind]
        if kind == "RunStarted":
            own |= {"planned_cases": 2, "planned_evaluations": 4}
        elif kind == "CasesPlanned":
            own |= {"chunk": kinds[: version - 1].count(kind), "digests": ("aa",)}
        elif kind in ("RunCompleted", "RunFailed"):
            own["counts"] = event.counts.model_copy(  # type: ignore[attr-defined]
                update={"finished": 4, "scored": 3, "abandoned": 1}
            )
        events.append(event.model_copy(update=own))
    return events


PLAN = ("RunStarted", "CasesPlanned", "CasesPlanned", "CaseSkipped", "PricesRecorded")


@st.composite
def run_kinds(draw: st.DrawFn) -> tuple[str, ...]:
    """A run that ended: driven, paused, killed and resumed as it may be."""
    drives: list[str] = []
    for _ in range(draw(st.integers(0, 3))):
        drives += draw(st.lists(st.just("LimitChanged"), max_size=2))
        drives += draw(st.sampled_from([["RunPaused", "RunResumed"], ["RunResumed"]]))
    end = draw(st.sampled_from(["RunCompleted", "RunFailed"]))
    return (*PLAN, *drives, end, "RunValidated", "RunSealed")


def test_a_run_of_an_older_version_has_no_prices_and_no_check() -> None:
    fold_run(run_stream("RunStarted", "CasesPlanned", "CasesPlanned", "RunCompleted", "RunSealed"))


@given(run_kinds(), st.data())
def test_damage_to_a_runs_own_stream_is_found(kinds: tuple[str, ...], data: st.DataObject) -> None:
    events = run_stream(*kinds)
    fold_run(events)
    at = data.draw(st.integers(0, len(events) - 1))
    to = data.draw(st.integers(0, len(events)))
    damage = data.draw(st.sampled_from(DAMAGES))
    damaged: Sequence[Event] = damage(events, at, to)  # type: ignore[arg-type]
    try:
        fold_run(damaged)
    except ImpossibleHistory as error:
        assert error.version is not None or not damaged
        return
    left = tuple(type(event).__name__ for event in damaged)
    assert may_be(left), left


def may_be(kinds: tuple[str, ...]) -> bool:
    """Whether a run may have lived so, told by the rules alone."""
    state = "planning"
    plan = [kind for kind in kinds if kind in PLAN]
    if list(kinds[: len(plan)]) != plan or plan != sorted(plan, key=PLAN.index):
        return False
    if plan.count("RunStarted") != 1 or plan.count("PricesRecorded") > 1:
        return False
    if plan.count("CasesPlanned") != 2 and len(plan) < len(kinds):
        return False
    state = "running"
    for kind in kinds[len(plan) :]:
        match state, kind:
            case ("running", "LimitChanged") | ("running", "RunResumed"):
                pass
            case "running", "RunPaused":
                state = "paused"
            case "paused", "RunResumed":
                state = "running"
            case "running", "RunCompleted" | "RunFailed":
                state = "ended"
            case "ended", "RunValidated":
                state = "checked"
            case "ended" | "checked", "RunSealed":
                state = "sealed"
            case _:
                return False
    return True


@pytest.mark.parametrize(
    ("kinds", "rule"),
    [
        ((*PLAN, "RunStarted"), "has started already"),
        (("RunStarted", "RunStarted"), "has started already"),
        (("CasesPlanned",), "has not started"),
        ((*PLAN, "RunCompleted", "RunSealed", "RunResumed"), "is sealed"),
        ((*PLAN, "RunCompleted", "RunResumed"), "has ended"),
        ((*PLAN, "RunSealed"), "has not ended"),
        ((*PLAN, "RunPaused", "RunCompleted"), "is paused"),
        (("RunStarted", "CasesPlanned", "RunCompleted"), "1 of 2 cases"),
        ((*PLAN, "CasesPlanned"), "is recorded already"),
    ],
)
def test_a_run_starts_once_and_nothing_follows_its_seal(kinds: tuple[str, ...], rule: str) -> None:
    with pytest.raises(ImpossibleHistory, match=rule):
        fold_run(run_stream(*kinds))


# -- beside the run --------------------------------------------------------------------------


def beside(*kinds: str, **changes: Any) -> list[Event]:
    stream = {"originator_id": operations_id(RUN), "about": RUN}
    return [
        _OF[kind].model_copy(update={**stream, "originator_version": version, **changes})
        for version, kind in enumerate(kinds, start=1)
    ]


CHECKED = ("ConfigurationResolved", "ValidationStarted", "ValidationPassed", "FileWritten")


def follow(events: Sequence[Event]) -> None:
    state = Operations()
    for event in events:
        state = evolve_operations(state, event, RUN)


@pytest.mark.parametrize(
    "kinds",
    [
        CHECKED,
        ("FileWritten",),
        ("ValidationFailed",),
        (*CHECKED[:2], "ValidationFailed", *CHECKED),
        (*CHECKED[:2], *CHECKED),
        (*CHECKED, "ValidationFailed"),
        ("RunArchived", "FileWritten", "RunAttached", "RunArchived", "RunAttached"),
    ],
)
def test_what_is_done_about_a_run_may_come_in_many_orders(kinds: tuple[str, ...]) -> None:
    follow(beside(*kinds))


BEFORE = {
    "ValidationStarted": ("ConfigurationResolved",),
    "ValidationPassed": ("ConfigurationResolved", "ValidationStarted"),
    "RunAttached": ("RunArchived",),
}
"""What some of them follow."""


@pytest.mark.parametrize("kind", topics("operations"))
def test_every_event_that_declares_it_may_stand_beside_a_run(kind: str) -> None:
    follow(beside(*BEFORE.get(kind, ()), kind))


@pytest.mark.parametrize(
    "events",
    [
        beside("ValidationPassed"),
        beside("ValidationStarted"),
        beside("ConfigurationResolved", "ValidationPassed"),
        beside(*CHECKED, "ValidationPassed"),
        beside(*CHECKED, about=OTHER_RUN),
        beside(*CHECKED, originator_id=operations_id(OTHER_RUN)),
        beside(*CHECKED, run_id=RUN),
        beside("Reviewed"),
        beside("FileWritten", "FileWritten")[1:],
        beside("RunAttached"),
        beside("RunArchived", "RunArchived"),
        beside("RunArchived", "RunAttached", "RunAttached"),
    ],
)
def test_what_cannot_have_been_done_about_a_run_is_found(events: list[Event]) -> None:
    with pytest.raises(ImpossibleHistory):
        follow(events)


def test_a_review_is_of_its_own_evaluation() -> None:
    own = {
        "originator_id": review_id(KEY.evaluation_id), "originator_version": 1, "about": RUN,
        "evaluation_id": KEY.evaluation_id,
    }  # fmt: skip
    review = _OF["Reviewed"].model_copy(update=own)
    assert next_review_version(0, review, RUN, KEY.evaluation_id) == 1
    for change in (
        {"about": OTHER_RUN},
        {"evaluation_id": UUID(int=1)},
        {"originator_id": UUID(int=1)},
        {"originator_version": 2},
        {"run_id": RUN},
    ):
        with pytest.raises(ImpossibleHistory):
            next_review_version(0, review.model_copy(update=change), RUN, KEY.evaluation_id)
