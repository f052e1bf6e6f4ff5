"""Damage to a run's own stream, and to what stands beside the run, is found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from failproof_es.core.case import operations_id, review_id
from failproof_es.core.evaluation import ImpossibleHistory
from failproof_es.core.run import TELL_STATUS, fold_run, run_in_brief
from failproof_es.core.side_streams import Operations, evolve_operations, next_review_version
from failproof_es.events import (
    Event,
    topics,
)
from tests.every import every
from tests.unit.core.damage import DAMAGES, OTHER_RUN
from tests.unit.event_samples import SAMPLES
from tests.unit.histories import KEY

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


@every(
    ("kinds", "rule"),
    [
        ((*PLAN, "RunStarted"), "has started already"),
        (("RunStarted", "RunStarted"), "has started already"),
        (("CasesPlanned",), "has not started"),
        ((*PLAN, "RunCompleted", "RunSealed", "RunResumed"), "is sealed"),
        ((*PLAN, "RunCompleted", "RunResumed"), "is completed"),
        ((*PLAN, "RunSealed"), "is running"),
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


@every(
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


@every("kind", topics("operations"))
def test_every_event_that_declares_it_may_stand_beside_a_run(kind: str) -> None:
    follow(beside(*BEFORE.get(kind, ()), kind))


@every(
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


@every(
    ("models", "limits"),
    [
        ([("a",), ("a",)], [("a",)]),
        ([("a",), ("b",)], [("a",), ("b",)]),
        ([(), ()], [()]),
        ([("a",), ("b",), ()], [()]),
    ],
)
def test_limits_of_other_models_stay_and_one_without_models_is_the_servers(
    models: list[tuple[str, ...]], limits: list[tuple[str, ...]]
) -> None:
    events = run_stream(*PLAN, *["LimitChanged"] * len(models))
    changed = [
        event.model_copy(update={"models": named})
        for event, named in zip(events[len(PLAN) :], models, strict=True)
    ]
    run = fold_run([*events[: len(PLAN)], *changed])
    assert run is not None
    assert [each.models for each in run.limits.values()] == limits


@given(run_kinds(), st.data())
def test_a_run_in_brief_says_what_its_whole_stream_says(
    kinds: tuple[str, ...], data: st.DataObject
) -> None:
    """At every moment of its life after its plan."""
    events = run_stream(*kinds)[: data.draw(st.integers(len(PLAN), len(kinds)))]
    last = {type(event): event for event in events if isinstance(event, TELL_STATUS)}
    brief = run_in_brief(
        [events[0], *sorted(last.values(), key=lambda each: each.originator_version)]
    )
    whole = fold_run(events)
    for name in ("manifest", "status", "reason", "counts", "gates", "gates_met", "ended"):
        assert getattr(brief, name) == getattr(whole, name), name


@every("kinds", [
    ("RunCompleted",), ("RunStarted", "RunCompleted", "RunFailed"), ("RunStarted", "RunStarted"),
    ("RunStarted", "RunCompleted", "RunPaused"), (),
])  # fmt: skip
def test_what_cannot_be_true_in_brief_is_refused(kinds: tuple[str, ...]) -> None:
    with pytest.raises(ImpossibleHistory):
        assert run_in_brief(run_stream(*kinds)).started is None
