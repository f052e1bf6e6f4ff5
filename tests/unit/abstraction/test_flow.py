"""The flow of specification 003 § 1, as the interfaces are called: what, with what, in order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest

from failproof_es.abstraction.enums import BenchmarkEvent, TaskStatus
from failproof_es.abstraction.implementation.benchmark import BenchmarkSession
from failproof_es.abstraction.implementation.interface_tasks import InterfaceTasks
from failproof_es.abstraction.notices import FINAL, Notice
from failproof_es.abstraction.types import BenchmarkTask, ExpectedAnswer, Result
from failproof_es.problems import InvalidInput
from tests.every import every

TASKS = [
    BenchmarkTask(name, "What?", ExpectedAnswer("a", "b", "c"), "d") for name in ("one", "two")
]
RUN = 7


class AtOnce:
    """Calls in the calling thread."""

    def put(self, call: Callable[[], None]) -> None:
        call()


class EmittingTasks:
    """A task manager with the interface's methods alone, which emits whatever a test says."""

    def __init__(self) -> None:
        self.subscribed: list[tuple[BenchmarkEvent, Callable[[Any], None]]] = []

    def submit_task(self, run_id: int, task: BenchmarkTask, model_name: str) -> int:
        return 1

    def subscribe(
        self, submission_id: int, event: BenchmarkEvent, callback: Callable[[Any], None]
    ) -> int:
        self.subscribed.append((event, callback))
        return len(self.subscribed)

    def unsubscribe(self, token: int) -> None:
        pass

    def emit(self, event: BenchmarkEvent, payload: Any = None) -> None:
        for wanted, callback in self.subscribed:
            if wanted is event:
                callback(payload)


class World:
    """Every part that the flow uses, writing down what it is asked to do."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.heard: dict[int, dict[BenchmarkEvent, Callable[[Any], None]]] = {}
        self.judging: Callable[[], None] = lambda: None

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def noted(*arguments: Any) -> Any:
            self.calls.append((name, *arguments))
            return {"create_run": RUN, "load_tasks": TASKS, "list_models": ["m", "n", "j"]}.get(
                name
            )

        return noted

    def submit_task(self, run_id: int, task: BenchmarkTask, model_name: str) -> int:
        self.calls.append(("submit_task", run_id, task.task_id, model_name))
        self.heard[len(self.heard) + 1] = {}
        return len(self.heard)

    def subscribe(
        self, submission: int, event: BenchmarkEvent, callback: Callable[[Any], None], calls: Any
    ) -> int:
        self.heard[submission][event] = callback
        return 0

    def judge(self, run_id: int, on_judged: Any, on_end: Any) -> None:
        self.calls.append(("judge", run_id))
        self.judging = lambda: on_end(None)

    def finish(self, submission: int, status: TaskStatus, **more: Any) -> None:
        """A submission has its last word."""
        failed = status is TaskStatus.FAILED
        event = BenchmarkEvent.ERROR if failed else BenchmarkEvent.COMPLETED
        result = Result(run_id=RUN, llm_response="" if failed else "Blue.", status=status)
        self.heard[submission][event](Notice(event, RUN, submission, result=result, **more))


@pytest.fixture
def world() -> World:
    return World()


def chosen(world: World) -> tuple[BenchmarkSession, list[BenchmarkEvent]]:
    """A benchmark with two models that can be started, and what it says."""
    part: Any = world
    benchmark = BenchmarkSession(
        part, part, part, part, dataset_path="tasks/", report=lambda run_id: f"{run_id}.html",
        dispatcher=AtOnce(), flow=AtOnce(),
    )  # fmt: skip
    said: list[BenchmarkEvent] = []
    for event in BenchmarkEvent:
        benchmark.subscribe(event, lambda notice: said.append(notice.event))
        benchmark.subscribe(event, lambda notice: world.calls.append((notice.event.name,)))
    benchmark.select_models(["m", "n"])
    benchmark.select_judge_model("j")
    world.calls.clear()
    return benchmark, said


def begun(world: World) -> tuple[BenchmarkSession, list[BenchmarkEvent]]:
    """A benchmark of two models and two tasks that has been started, and what it says."""
    benchmark, events = chosen(world)
    assert benchmark.start_benchmark() == RUN
    return benchmark, events


def test_a_run_is_created_its_tasks_are_loaded_and_saved_and_every_combination_submitted(
    world: World,
) -> None:
    _, said = begun(world)
    assert [call for call in world.calls if call[0] != "judge_with"] == [
        ("create_run", ["m", "n"]),
        ("load_tasks", "tasks/"),
        ("save_tasks", RUN, TASKS),
        ("STARTED",),
        ("submit_task", RUN, "one", "m"),
        ("submit_task", RUN, "two", "m"),
        ("submit_task", RUN, "one", "n"),
        ("submit_task", RUN, "two", "n"),
    ]
    assert world.calls.index(("judge_with", "j")) < world.calls.index(("create_run", ["m", "n"]))
    assert said == [BenchmarkEvent.STARTED]
    assert all(
        set(heard) == set(BenchmarkEvent) - {BenchmarkEvent.STARTED}
        for heard in world.heard.values()
    )


def test_judging_begins_once_and_only_after_the_last_submission_has_had_its_last_word(
    world: World,
) -> None:
    begun(world)
    for submission in (3, 1, 4):
        world.finish(submission, TaskStatus.PENDING_JUDGEMENT)
        assert ("judge", RUN) not in world.calls
    world.finish(2, TaskStatus.FAILED, error="no answer")
    assert world.calls.count(("judge", RUN)) == 1


def test_a_run_is_completed_by_its_report_and_by_the_first_one_only(world: World) -> None:
    benchmark, said = begun(world)
    for submission in world.heard:
        world.finish(submission, TaskStatus.PENDING_JUDGEMENT)
    world.judging()
    assert BenchmarkEvent.COMPLETED not in said
    assert [benchmark.generate_report(RUN) for _ in range(2)] == ["7.html", "7.html"]
    assert said.count(BenchmarkEvent.COMPLETED) == 1


def test_a_submission_that_is_given_up_ends_the_run_in_trouble_without_judging(
    world: World,
) -> None:
    _, said = begun(world)
    for submission in (1, 2, 3):
        world.finish(submission, TaskStatus.PENDING_JUDGEMENT)
    result = Result(run_id=RUN, status=TaskStatus.NEW)
    given_up = Notice(BenchmarkEvent.ERROR, RUN, 4, result=result, error="the key is refused")
    world.heard[4][BenchmarkEvent.ERROR](given_up)
    assert ("judge", RUN) not in world.calls
    assert said[-1] is BenchmarkEvent.ERROR


@pytest.mark.parametrize("first", sorted(FINAL, key=str))
def test_every_subscriber_of_a_submission_has_its_first_final_event_once(
    world: World, first: BenchmarkEvent
) -> None:
    manager, part, heard = EmittingTasks(), cast(Any, world), []
    tasks = InterfaceTasks(manager, part, part, part, AtOnce(), lambda: "j")
    submission = tasks.submit_task(RUN, TASKS[0], "m")

    def subscribe(name: str) -> None:
        for event in FINAL:
            tasks.subscribe(submission, event, lambda notice: heard.append((name, notice.event)))

    subscribe("one")
    subscribe("two")
    [other] = FINAL - {first}
    for event in (first, other, first):
        manager.emit(event)
    subscribe("late")
    manager.emit(first)
    manager.emit(other)
    assert heard == [(name, first) for name in ("one", "two", "late")]


def test_a_submission_that_raises_ends_the_run_with_an_error(world: World) -> None:
    def submit(run_id: int, task: BenchmarkTask, model_name: str) -> int:
        if model_name == "n":
            raise InvalidInput.because("unknown-model", "run 7 has no model 'n'")
        return World.submit_task(world, run_id, task, model_name)

    vars(world)["submit_task"] = submit
    benchmark, events = chosen(world)
    with pytest.raises(InvalidInput, match=r"\[unknown-model\]"):
        benchmark.start_benchmark()
    assert events == [BenchmarkEvent.STARTED, BenchmarkEvent.ERROR]


def test_a_loader_without_a_task_ends_the_start_before_it_is_announced(world: World) -> None:
    vars(world)["load_tasks"] = lambda path: []
    benchmark, events = chosen(world)
    with pytest.raises(InvalidInput, match=r"\[no-cases\]"):
        benchmark.start_benchmark()
    assert not events


@every("status", (TaskStatus.JUDGEMENT_COMPLETED, TaskStatus.FAILED, TaskStatus.PENDING_JUDGEMENT))
def test_a_result_is_reported_as_final_once(status: TaskStatus) -> None:
    """As its submission ends, if it is final then; else when it is judged."""
    world, manager = World(), EmittingTasks()
    part = cast(Any, world)
    heard: list[Notice] = []
    judged: list[Result] = []
    ended: list[str | None] = []
    saved = Result(run_id=RUN, model_name="m", task_id="one", status=status)
    reply = '{"score": 1, "reason": "Blue."}'
    vars(world)["generate"] = lambda model, prompt: reply
    vars(world)["load_results"] = lambda run_id, selected: (
        [saved] if selected in (status, TaskStatus.JUDGEMENT_COMPLETED) else []
    )
    tasks = InterfaceTasks(manager, part, part, part, AtOnce(), lambda: "j")
    submission = tasks.submit_task(RUN, TASKS[0], "m")
    tasks.subscribe(submission, BenchmarkEvent.COMPLETED, heard.append)
    manager.emit(BenchmarkEvent.COMPLETED, saved)
    tasks.judge(RUN, judged.append, ended.append)
    assert ended == [None] and len(heard) == 1
    assert len(judged) == (status is TaskStatus.PENDING_JUDGEMENT)
