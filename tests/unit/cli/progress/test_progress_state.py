"""Progress is a fold over events: given these events, at this time, then these numbers."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterable

import orjson
import pytest

from failproof_es.cli.progress.display import plain_line
from failproof_es.cli.progress.error_groups import MOST_GROUPS, OTHER_MESSAGES, ErrorGroups
from failproof_es.cli.progress.json_lines import json_line, progress_object
from failproof_es.cli.progress.model_progress import ModelProgressState, Pace
from failproof_es.cli.progress.state import OBSERVED, ProgressState
from failproof_es.cli.progress.text import duration, error_lines, judges_line, limit_text
from failproof_es.core.transcript import AWAITING_REVIEW, JUDGE_FAILED
from failproof_es.engine.history import RecordedEvaluation
from failproof_es.events import (
    CarriedOver,
    Counts,
    ErrorRecorded,
    Event,
    RunCompleted,
    RunFailed,
    RunPaused,
    RunResumed,
    RunSealed,
    RunValidated,
    Usage,
)
from failproof_es.store.outage import OutageReport
from tests.every import every
from tests.unit.cli.samples import (
    NOON,
    RUN,
    abandoned,
    answered,
    classified,
    failed,
    judged,
    limited,
    lost,
    priced,
    scored,
    sent,
    started,
)
from tests.unit.histories import KEY, History, a_case


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def after(events: Iterable[Event]) -> ProgressState:
    state = ProgressState(clock=Clock(), now=lambda: NOON)
    for event in events:
        state.observe(event)
    return state


def row(state: ProgressState, key: str = "a") -> ModelProgressState:
    return state.models[key]


def test_the_plan_is_shared_evenly_by_the_models() -> None:
    state = after([started("a", "b", planned=20)])
    assert [(m.key, m.planned) for m in state.models.values()] == [("a", 10), ("b", 10)]
    assert (state.run_number, state.name) == (3, "smoke")


def test_a_request_is_in_flight_until_its_outcome_is_on_record() -> None:
    assert len(row(after([sent(1), sent(2)])).in_flight) == 2
    for outcome in (answered(1), failed(1), lost(1)):
        assert len(row(after([sent(1), sent(2), outcome])).in_flight) == 1


def test_second_attempts_count_as_retries() -> None:
    assert row(after([sent(1), failed(1), sent(1, attempt=2)])).asking.retries == 1


def test_a_scored_evaluation_is_finished_and_passed_where_its_dialect_says_so() -> None:
    halves = [scored(n, 0).model_copy(update={"scores": {"accuracy": 0.6}}) for n in (3, 4)]
    passed, neither = (
        each.model_copy(update={"passed": said})
        for each, said in zip(halves, (True, None), strict=True)
    )
    model = row(after([classified(1, "pass"), scored(1, 1), scored(2, 0), passed, neither]))
    group = model.group
    assert (model.finished, group.scored, group.abandoned) == (4, 4, 0)
    assert (group.passed, group.failed, group.classes) == (2, 1, {"pass": 1})


def test_refusals_and_abandoned_evaluations_are_told_apart() -> None:
    model = row(after([classified(1, "refusal"), scored(1, 0), abandoned(2)]))
    assert (model.group.classes["refusal"], model.group.abandoned, model.finished) == (1, 1, 2)


def test_of_what_was_abandoned_is_told_what_was_lost_and_what_awaits_review() -> None:
    """Only the first has no usable answer: one was cut off, the judge of another failed."""
    failing = [failed(1), classified(1, "error"), abandoned(1)]
    mended = [failed(2), sent(2, attempt=2), answered(2), classified(2, "truncated"), abandoned(2)]
    unread = [answered(3), classified(3, "answered"), judged(3, None), abandoned(3)]
    awaits = [answered(4), abandoned(4).model_copy(update={"kind": AWAITING_REVIEW})]
    assert [row(after(each)).group.lost for each in (failing, mended, unread)] == [1, 0, 0]
    model = row(after([*failing, *mended, *unread, *awaits]))
    assert (model.group.abandoned, model.group.lost, model.group.awaiting) == (4, 1, 1)
    assert (model.asking.errors, model.error_rate) == (2, 0.75)


def test_an_answer_whose_judges_failed_is_not_lost() -> None:
    model = row(after([judged(1, {"met": True}), failed(1), judged(1, None), abandoned(1)]))
    assert (model.group.abandoned, model.group.lost) == (1, 0)
    failing = abandoned(2).model_copy(update={"kind": JUDGE_FAILED})
    assert not row(after([judged(2, {"met": True}), judged(2, None), failing])).group.lost


def test_models_are_counted_apart() -> None:
    state = after([started("a", "b", planned=4), scored(1, 1, "a"), scored(1, 0, "b")])
    assert (row(state, "a").group.passed, row(state, "b").group.passed) == (1, 0)
    assert (state.total.group.passed, state.total.group.failed) == (1, 1)


def test_cost_adds_up_as_long_as_every_price_is_known() -> None:
    state = after([answered(1, tokens=10), started("a", planned=2), priced("a")])
    assert row(state).cost_usd is None, "it was answered before any price was known"
    state = after([started("a", "b", planned=2), priced("a", "judge:j")])
    assert (row(state, "a").cost_usd, row(state, "b").cost_usd) == (0, None)
    state.observe(answered(1, tokens=10))
    judged_by = {"purpose": "judge", "judge": "judge:j"}
    state.observe(answered(1, tokens=20).model_copy(update=judged_by))
    assert row(state).cost_usd == pytest.approx(0.030002), "a judge's answer is paid for, too"


def test_cost_is_unknown_from_the_first_answer_whose_cost_is() -> None:
    state = after([started("a", planned=3), priced("a"), answered(1)])
    silent = answered(2).model_copy(update={"usage": Usage()})
    state.observe(silent)
    assert row(state).cost_usd is None
    spent = row(state).spent
    assert (spent.input.reported_total, spent.input.unknown) == (10, 1)


def test_pace_is_unknown_until_enough_is_known() -> None:
    clock = Clock()
    state = ProgressState(clock=clock)
    state.observe(started("a", planned=100))
    assert state.pace("a") == Pace(None, None)
    for case in range(4):
        state.observe(scored(case, 1))
    clock.now += 10
    assert state.pace("a") == Pace(None, None)


def test_pace_is_what_was_finished_in_the_last_half_minute() -> None:
    clock = Clock()
    state = ProgressState(clock=clock)
    state.observe(started("a", planned=100))
    state.pace("a")
    for case in range(20):
        state.observe(scored(case, 1))
    clock.now += 10
    assert state.pace("a") == Pace(2.0, 40.0)
    for case in range(20, 60):
        clock.now += 1
        state.observe(scored(case, 1))
        state.pace("a")
    assert state.pace("a") == Pace(1.0, 40.0)


def test_a_model_that_answers_nothing_any_more_slows_down_and_keeps_a_pace() -> None:
    clock = Clock()
    state = ProgressState(clock=clock)
    state.observe(started("a", planned=100))
    state.pace("a")
    for case in range(20):
        state.observe(scored(case, 1))
    for _ in range(80):
        clock.now += 1
        state.pace("a")
    assert state.pace("a") == Pace(0.25, 320.0)


def test_the_time_that_a_server_holds_back_comes_on_top_of_what_is_left() -> None:
    clock = Clock()
    state = ProgressState(clock=clock, now=lambda: NOON)
    for event in (started("a", planned=30), limited("a", allowed=50, held_s=7)):
        state.observe(event)
    state.pace("a")
    for case in range(20):
        state.observe(scored(case, 1))
    clock.now += 10
    assert state.pace("a") == Pace(2.0, 5.0 + 7.0)
    for case in range(20, 30):
        state.observe(scored(case, 1))
    assert state.pace("a").seconds_left == 0.0


def test_nothing_is_left_when_all_is_done() -> None:
    state = after([started("a", planned=1), scored(1, 1)])
    assert state.pace("a").seconds_left == 0.0


@every(("seconds", "shown"), [(7, "0:07"), (59.6, "1:00"), (750, "12:30"), (11100, "3:05:00")])
def test_durations_read_like_a_clock(seconds: float, shown: str) -> None:
    assert duration(seconds) == shown


def test_a_plain_line_holds_no_control_sequence_whatever_the_model_is_called() -> None:
    line = plain_line(after([started("evil\x1b[2J\u202e", "b", planned=2)]))
    assert "\x1b" not in line and "\u202e" not in line
    assert "evil\\x1b[2J\\u202e: 0 of 1, 0 passed; b: 0 of 1, 0 passed" in line


def test_the_limit_of_a_server_is_shown_at_each_model_that_it_serves() -> None:
    state = after([started("a", "b", planned=2), limited("a", "judge:j", allowed=24, held_s=2.5)])
    assert limit_text(state.rate_limit("a")) == "24/100, held 3 s"
    assert limit_text(state.rate_limit("b")) == "100/100"
    assert "limit 24/100, held 3 s; b: " in plain_line(state)


def test_a_hold_that_is_over_is_not_shown_although_no_event_says_so() -> None:
    """A run that was stopped during a hold has none that does."""
    state = after([started("a", planned=2), limited("a", allowed=24, held_s=-1)])
    assert limit_text(state.rate_limit("a")) == "24/100"


def test_a_server_that_only_judges_stand_on_is_told_of_once_it_complains() -> None:
    state = after([started("a", planned=2)])
    assert judges_line(state) == ""
    state.observe(limited("judge:j", allowed=1, held_s=61, server="http://there/v1"))
    assert plain_line(state).endswith("; judge:j: limit 1/100, held 1:01")
    assert judges_line(state) == "judge:j: limit 1/100, held 1:01"
    assert progress_object(state)["details"]["judges"][0]["judge"] == "j"


def test_the_error_rate_is_of_what_is_finished() -> None:
    state = after([started("a", planned=9), *(scored(n, 1) for n in range(3)), abandoned(3)])
    assert row(state).error_rate == 0.25
    assert plain_line(state).endswith("; 3 passed, 1 (25.0 %) unscored")
    every_figure = "3 passed, 0 refused, 1 (25.0 %) unscored, 0 lost, 0 retries, 0 in flight"
    assert every_figure in plain_line(state, verbose=True)
    assert row(after([started("a", planned=9)])).error_rate is None


def test_answers_are_counted_while_evaluations_end_too_seldom_for_a_pace() -> None:
    state = after([started("a", planned=2), sent(1), answered(1), sent(1), answered(1)])
    assert plain_line(state).endswith("; 0 passed, 2 answers")
    for case in (1, 2):
        state.observe(scored(case, 1))
    assert plain_line(state).endswith("; 2 passed")


def test_what_the_run_is_at_is_said_from_planning_to_its_end() -> None:
    clock = Clock()
    state = ProgressState(clock=clock)
    clock.now += 3
    assert plain_line(state) == "new run: checking cases and models, 0:03 elapsed"
    header = {"originator_id": RUN, "originator_version": 9, "run_id": RUN, "timestamp": NOON}
    counts = Counts(planned=1, finished=1, scored=1, abandoned=0)
    for event, said in (
        (started("a", planned=1), "run 3 smoke: 0 of 1 (0 %)"),
        (scored(1, 1), "run 3 smoke: validating the record, 1 of 1 (100 %)"),
        (RunCompleted(**header, counts=counts), "run 3 smoke: validating the record, 1 of 1"),
        (
            RunValidated(**header, passed=True, findings=()),
            "run 3 smoke: sealing the record, 1 of 1",
        ),
        (RunSealed(**header, streams=1, events=1, root="00"), "run 3 smoke: completed, 1 of 1"),
        (RunFailed(**header, counts=counts, reason="r"), "run 3 smoke: validating the record"),
        (RunSealed(**header, streams=1, events=1, root="00"), "run 3 smoke: failed, 1 of 1"),
        (RunPaused(**header, counts=counts, reason="r"), "run 3 smoke: paused, 1 of 1"),
        (
            RunResumed(**header, who="w", where="h", code_version="1", packages={}),
            "run 3 smoke: validating the record",
        ),
    ):
        state.observe(event)
        assert plain_line(state).startswith(said)


def test_what_is_not_all_done_is_not_100_percent() -> None:
    events = [started("a", planned=2000), *(scored(n, 1) for n in range(1999))]
    assert plain_line(after(events)).startswith("run 3 smoke: 1,999 of 2,000 (99 %)")


def test_errors_are_grouped_by_their_first_line_and_counted_the_latest_first() -> None:
    def an_error(case: int, message: str, status: int | None = None) -> ErrorRecorded:
        return failed(case).model_copy(update={"message": message, "status": status})

    state = after(
        [
            started("a", planned=9),
            an_error(1, "too slow"),
            *(an_error(n, "\n bad\x1b[2J key \nrequest 7", 401) for n in range(2, 5)),
            an_error(5, ""),
        ]
    )
    assert error_lines(state, 2) == [
        "1x a: timeout",
        "3x a: 401: bad\\x1b[2J key",
        "and 1 other kind of error",
    ]
    assert error_lines(state, 3)[2] == "1x a: timeout: too slow"
    state.observe(an_error(6, "busy", 429).model_copy(update={"disposition": "deferred"}))
    assert error_lines(state, 1)[0] == "waiting: 1x a: 429: busy"
    state.outage = OutageReport(list[str]().append)
    state.outage.away(ConnectionError("gone"), 5.0)
    assert error_lines(state, 1)[:2] == ["waiting: the database is away", "1x a: 429: busy"]
    state.outage.back()
    assert error_lines(state, 1)[0] == "waiting: 1x a: 429: busy"
    state.observe(answered(7))
    assert error_lines(state, 1)[0] == "1x a: 429: busy"


def test_messages_without_end_are_counted_together_from_some_number_on() -> None:
    groups = ErrorGroups()
    for number in range(MOST_GROUPS + 57):
        groups.add(failed(1).model_copy(update={"message": f"request {number}"}))
    assert groups.groups == MOST_GROUPS + 1
    first = groups.most_frequent(1)[0]
    assert (first.count, first.message) == (57, OTHER_MESSAGES)


def test_what_was_carried_over_is_done_as_it_ended_and_said_to_be_carried_over() -> None:
    (carried,) = History().carried_over().events
    assert isinstance(carried, CarriedOver)
    elsewhere = History().sent().answered().classified().scored().events
    state = after([started("model", planned=9), carried, scored(2, 1, key="model")])
    state.carry_over(RecordedEvaluation(KEY, a_case(), elsewhere, carried))
    assert plain_line(state).endswith("; 2 passed (1 carried over)")
    assert row(state, "model").finished_here == 1, "the rate is that of what this run does"
    assert row(state, "model").asking.requests == 0 and state.total.spent.answers == 0
    assert "carried over" not in plain_line(after([started("a", planned=9), scored(2, 1)]))


def test_the_time_since_this_drive_began_is_said_in_every_form() -> None:
    clock = Clock()
    state = ProgressState(clock=clock, now=lambda: NOON)
    state.observe(started("a", planned=4))
    clock.now += 75
    assert "1:15 elapsed" in plain_line(state)
    assert orjson.loads(json_line(state))["details"]["elapsed_s"] == 75.0


def test_a_cost_that_is_not_known_is_not_shown() -> None:
    line = plain_line(after([started("a", planned=4), sent(1), answered(1)]), verbose=True)
    assert "$" not in line


def test_the_json_line_says_the_same_in_one_line_safe_to_show() -> None:
    events = [started("a", "b\x1b", planned=4), sent(1), failed(1), sent(1, attempt=2)]
    state = after([*events, abandoned(2), limited("a", allowed=24, held_s=3)])
    line = json_line(state)
    assert "\n" not in line and "\x1b" not in line
    said = orjson.loads(line)
    assert (said["event"], said["test_run_id"]) == ("progress", str(state.run_id))
    assert said["timestamp"].endswith("Z")
    details = said["details"]
    assert (details["phase"], details["elapsed_s"]) == ("evaluating", 0.0)
    assert details["error_groups"] == [{"count": 1, "model": "a", "message": "timeout: too slow"}]
    assert (details["planned"], details["finished"], details["abandoned"]) == (4, 1, 1)
    assert details["error_rate"] == 1.0 and details["seconds_left"] is None
    assert details["models"][0] == {
        "model": "a",
        "planned": 2,
        "finished": 1,
        "scored": 0,
        "passed": 0,
        "failed": 0,
        "abandoned": 1,
        "lost": 0,
        "awaiting_review": 0,
        "refused": 0,
        "carried_over": 0,
        "error_rate": 1.0,
        "failed_requests": 1,
        "retries": 1,
        "in_flight": 1,
        "per_second": None,
        "tokens": {"input": None, "output": None, "input_unknown": 0, "output_unknown": 0},
        "cost_usd": None,
        "possibly_charged": 2,
        "seconds_left": None,
        "limit": 24,
        "ceiling": 100,
        "held_until": "2026-01-01T12:00:03Z",
    }
    assert (details["models"][1]["limit"], details["models"][1]["held_until"]) == (100, None)


def test_every_event_that_changes_the_progress_says_that_it_tells_it() -> None:
    """Workers' events are read by it: what it leaves out is never shown."""
    source = ast.parse(textwrap.dedent(inspect.getsource(ProgressState.observe)))
    matched = {
        node.cls.id
        for node in ast.walk(source)
        if isinstance(node, ast.MatchClass) and isinstance(node.cls, ast.Name)
    }
    assert matched == set(OBSERVED)
