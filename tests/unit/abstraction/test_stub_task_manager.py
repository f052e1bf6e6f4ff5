"""A user interface's subscriptions, driven through every order of events by the stub."""

from __future__ import annotations

import itertools
import logging

import pytest

from failproof_es.abstraction.enums import BenchmarkEvent, TaskStatus
from failproof_es.abstraction.implementation.subscriptions import UnknownSubmission, UnknownToken
from failproof_es.abstraction.notices import FINAL, Notice
from failproof_es.abstraction.task_manager_api import TaskManagerApi
from failproof_es.abstraction.testing import StubTaskManager
from failproof_es.abstraction.types import BenchmarkTask, ExpectedAnswer
from tests.every import every

TASK = BenchmarkTask("t", "What?", ExpectedAnswer("a", "b", "c"), "d")


class Panel:
    """A small user interface: the text of one task as it comes, and how it ended."""

    def __init__(self, tasks: TaskManagerApi, submission: int) -> None:
        self.text = ""
        self.attempt = 0
        self.ended: list[BenchmarkEvent] = []
        self.after_the_end = 0
        hears = {
            BenchmarkEvent.STARTED: self.on_any,
            BenchmarkEvent.STREAMING_RESULT: self.on_stream,
            BenchmarkEvent.PROGRESS_CHANGED: self.on_any,
            BenchmarkEvent.ERROR: self.on_end,
            BenchmarkEvent.COMPLETED: self.on_end,
        }
        self.tokens = [tasks.subscribe(submission, event, hear) for event, hear in hears.items()]

    def on_any(self, notice: Notice) -> None:
        self.after_the_end += bool(self.ended)

    def on_stream(self, notice: Notice) -> None:
        self.on_any(notice)
        if notice.attempt != self.attempt:
            self.attempt, self.text = notice.attempt, ""
        self.text += notice.text

    def on_end(self, notice: Notice) -> None:
        self.ended.append(notice.event)


@every("order", list(itertools.permutations(BenchmarkEvent)))
def test_in_every_order_of_events_exactly_one_final_one_arrives_and_nothing_after_it(
    order: tuple[BenchmarkEvent, ...],
) -> None:
    tasks = StubTaskManager()
    submission = tasks.submit_task(1, TASK, "model")
    panel = Panel(tasks, submission)
    for event in order:
        tasks.emit(submission, event, text="x")
    assert panel.ended == [next(event for event in order if event in FINAL)]
    assert panel.after_the_end == 0
    streamed = order.index(BenchmarkEvent.STREAMING_RESULT)
    assert panel.text == ("x" if all(order.index(each) > streamed for each in FINAL) else "")


def test_subscribing_late_to_a_finished_submission_delivers_its_last_word_at_once() -> None:
    tasks = StubTaskManager()
    submission = tasks.submit_task(3, TASK, "model")
    tasks.emit(submission, BenchmarkEvent.COMPLETED, text="All of it.")
    heard: list[Notice] = []
    for event in BenchmarkEvent:
        tasks.subscribe(submission, event, heard.append)
    (notice,) = heard
    assert notice.event is BenchmarkEvent.COMPLETED
    assert notice.result is not None
    assert (notice.result.run_id, notice.result.llm_response) == (3, "All of it.")
    assert notice.result.status is TaskStatus.PENDING_JUDGEMENT


def test_a_notice_holds_what_the_real_one_does() -> None:
    tasks = StubTaskManager()
    heard: list[Notice] = []
    for submission in (tasks.submit_task(7, TASK, "model"), tasks.submit_task(7, TASK, "other")):
        for event in BenchmarkEvent:
            tasks.subscribe(submission, event, heard.append)
    tasks.emit(1, BenchmarkEvent.STARTED)
    tasks.emit(1, BenchmarkEvent.STREAMING_RESULT, text="Bl")
    tasks.emit(1, BenchmarkEvent.PROGRESS_CHANGED)
    tasks.emit(1, BenchmarkEvent.COMPLETED, text="Blue.")
    tasks.emit(2, BenchmarkEvent.ERROR)
    assert {(n.run_id, n.task_id, n.attempt) for n in heard} == {(7, "t", 1)}
    assert [n.text for n in heard] == ["", "Bl", "", "", ""]
    assert [n.progress and n.progress.percent_complete for n in heard] == [
        None, None, 100.0, None, None,
    ]  # fmt: skip
    assert [n.result and (n.result.result_id, n.result.status) for n in heard] == [
        None, None, None, (1, TaskStatus.PENDING_JUDGEMENT), (2, TaskStatus.FAILED),
    ]  # fmt: skip


def test_each_submission_is_heard_by_its_own_subscribers_only() -> None:
    tasks = StubTaskManager()
    first, second = (tasks.submit_task(1, TASK, name) for name in ("one", "two"))
    panels = {each: Panel(tasks, each) for each in (first, second)}
    tasks.emit(first, BenchmarkEvent.STREAMING_RESULT, text="a")
    tasks.emit(second, BenchmarkEvent.STREAMING_RESULT, text="b")
    tasks.emit(second, BenchmarkEvent.ERROR, error="no model")
    assert [panel.text for panel in panels.values()] == ["a", "b"]
    assert [panel.ended for panel in panels.values()] == [[], [BenchmarkEvent.ERROR]]


def test_who_unsubscribed_hears_nothing_and_may_do_so_twice() -> None:
    tasks = StubTaskManager()
    submission = tasks.submit_task(1, TASK, "model")
    panel = Panel(tasks, submission)
    for token in panel.tokens * 2:
        tasks.unsubscribe(token)
    tasks.emit(submission, BenchmarkEvent.COMPLETED)
    assert panel.ended == []


def test_unknown_tokens_and_submissions_are_errors() -> None:
    tasks = StubTaskManager()
    with pytest.raises(UnknownToken):
        tasks.unsubscribe(1)
    with pytest.raises(UnknownSubmission):
        tasks.subscribe(1, BenchmarkEvent.STARTED, print)
    with pytest.raises(UnknownSubmission):
        tasks.emit(1, BenchmarkEvent.STARTED)


def test_a_callback_that_raises_keeps_nobody_else_from_hearing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    tasks = StubTaskManager()
    submission = tasks.submit_task(1, TASK, "model")

    def fail(notice: Notice) -> None:
        raise RuntimeError("no")

    tasks.subscribe(submission, BenchmarkEvent.COMPLETED, fail)
    panel = Panel(tasks, submission)
    with caplog.at_level(logging.ERROR):
        tasks.emit(submission, BenchmarkEvent.COMPLETED)
    assert panel.ended == [BenchmarkEvent.COMPLETED]
    assert "raised" in caplog.text


def test_a_callback_may_emit_and_subscribe_and_order_is_kept() -> None:
    tasks = StubTaskManager()
    submission = tasks.submit_task(1, TASK, "model")
    heard: list[str] = []

    def on_start(notice: Notice) -> None:
        tasks.emit(submission, BenchmarkEvent.COMPLETED)
        tasks.subscribe(submission, BenchmarkEvent.COMPLETED, lambda _: heard.append("late"))
        heard.append("started")

    tasks.subscribe(submission, BenchmarkEvent.STARTED, on_start)
    tasks.subscribe(submission, BenchmarkEvent.COMPLETED, lambda _: heard.append("early"))
    tasks.emit(submission, BenchmarkEvent.STARTED)
    assert heard == ["started", "early", "late"]
