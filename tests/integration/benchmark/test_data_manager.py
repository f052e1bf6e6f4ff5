"""What may be saved, what is refused, and what is appended: the record never changes."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from dataclasses import replace

import pytest

from failproof_es.abstraction.enums import BenchmarkEvent, TaskStatus
from failproof_es.abstraction.opened import BenchmarkParts, open_benchmark
from failproof_es.abstraction.types import Result
from failproof_es.engine.lifecycle import resume
from failproof_es.engine.replays.replay import replay
from failproof_es.problems import InvalidInput
from failproof_es.store.reading.reader import find, max_position, resolve_run
from failproof_es.store.store import Store
from projections.audit_trail import audit_record
from projections.protocol import Fact
from tests.every import every
from tests.integration.benchmark.conftest import Configured, Server


@pytest.fixture
def parts(configured: Configured, store: Store) -> Iterator[BenchmarkParts]:
    with open_benchmark(configured().path, store.url, follow=False) as parts:
        yield parts


@pytest.fixture
def answered(parts: BenchmarkParts) -> list[Result]:
    """The answers of one model to three tasks, on record; none is judged."""
    parts.data.judge_with("judge")
    run_id = parts.data.create_run(["alpha"])
    tasks = parts.data.tasks_of(run_id)
    done = threading.Semaphore(0)
    for task in tasks:
        submission = parts.tasks.submit_task(run_id, task, "alpha")
        parts.tasks.subscribe(submission, BenchmarkEvent.COMPLETED, lambda _: done.release())
    assert all(done.acquire(timeout=30) for _ in tasks)
    parts.tasks.close()
    return parts.data.load_results(run_id, TaskStatus.PENDING_JUDGEMENT)


def test_a_run_is_on_record_with_its_tasks_before_anything_is_asked(
    parts: BenchmarkParts, server: Server
) -> None:
    parts.data.judge_with("judge")
    run_id = parts.data.create_run(["alpha", "beta"])
    parts.data.save_tasks(
        run_id, parts.loader.load_tasks(parts.data.configuration_of(1).dataset_path)
    )
    results = parts.data.load_results(run_id, TaskStatus.NEW)
    assert [result.result_id for result in results] == [1, 2, 3, 4, 5, 6]
    assert {result.evaluation_score for result in results} == {-1.0}
    assert server.order() == []
    configuration = parts.data.configuration_of(run_id)
    assert configuration.model_names == ["alpha", "beta"]
    assert (configuration.judge_model_name, configuration.concurrency) == ("judge", 2)


def test_tasks_that_were_not_planned_are_refused_by_name(parts: BenchmarkParts) -> None:
    parts.data.judge_with("judge")
    run_id = parts.data.create_run(["alpha"])
    first, second, _ = parts.data.tasks_of(run_id)
    other = replace(second, task_id="other")
    with pytest.raises(InvalidInput) as caught:
        parts.data.save_tasks(run_id, [replace(first, question="?"), other])
    assert [each.code for each in caught.value.problems] == ["plan-mismatch"] * 3
    for problem, ids in zip(
        caught.value.problems, ("other", "task-2, task-3", "task-1"), strict=True
    ):
        assert problem.message.endswith(f" {ids}")


def test_an_answer_on_record_is_saved_and_one_that_is_not_is_refused(
    parts: BenchmarkParts, answered: list[Result], store: Store
) -> None:
    with store.connect() as connection:
        before = max_position(connection)
    parts.data.save_result(answered[0])
    with pytest.raises(InvalidInput, match=r"llm_response.*\[record-mismatch\]"):
        parts.data.save_result(replace(answered[0], llm_response="Something nicer."))
    with store.connect() as connection:
        assert max_position(connection) == before
    parts.data.judge_with("judge")
    fresh = parts.data.create_run(["beta"])
    with pytest.raises(InvalidInput, match=r"\[wrong-status\]"):
        parts.data.save_result(Result(run_id=fresh, model_name="beta", task_id="task-1"))


def test_a_judgement_from_outside_is_appended_once_and_says_who_gave_it(
    parts: BenchmarkParts, answered: list[Result], store: Store
) -> None:
    judged = replace(
        answered[0],
        status=TaskStatus.JUDGEMENT_COMPLETED,
        evaluation_score=0.75,
        evaluation_reason="Read by hand.",
    )
    failed = replace(answered[1], status=TaskStatus.FAILED, error_message="nobody had time")
    for result in (judged, judged, failed):
        parts.data.update_result(result)
    run_id = answered[0].run_id or 0
    assert parts.data.load_results(run_id, TaskStatus.JUDGEMENT_COMPLETED) == [judged]
    (found,) = parts.data.load_results(run_id, TaskStatus.FAILED)
    assert found.error_message == "judge_failed: api: nobody had time"
    with pytest.raises(InvalidInput, match=r"evaluation_score.*\[record-mismatch\]"):
        parts.data.update_result(replace(judged, evaluation_score=1.0))
    with store.connect() as connection:
        uuid = resolve_run(connection, str(run_id))
        rows = [row for row in find(connection, run_id=uuid) if row.topic == "Judged"]
    assert [row.payload()["judge"] for row in rows] == ["api", "api"]
    facts = (Fact(row.position, "", row.topic, str(row.run_id), row.payload()) for row in rows)
    assert [record and record.event for record in map(audit_record, facts)] == ["Judged", "Judged"]
    assert replay(store, uuid).differences == []


def test_a_result_saved_for_an_answer_on_record_is_recorded_as_its_judgement_or_refused(
    parts: BenchmarkParts, answered: list[Result], store: Store
) -> None:
    judged = replace(
        answered[0],
        status=TaskStatus.JUDGEMENT_COMPLETED,
        evaluation_score=0.75,
        evaluation_reason="Read by hand.",
    )
    failed = replace(answered[1], status=TaskStatus.FAILED, error_message="nobody had time")
    run_id = answered[0].run_id or 0
    with pytest.raises(InvalidInput, match=r"\[out-of-range\]"):
        parts.data.save_result(replace(judged, evaluation_score=1.5))
    with pytest.raises(InvalidInput, match=r"\[wrong-status\]"):
        parts.data.save_result(replace(judged, status=TaskStatus.NEW))
    for result in (judged, failed, answered[0], *2 * (judged, failed)):
        parts.data.save_result(result)
    assert parts.data.load_results(run_id, TaskStatus.JUDGEMENT_COMPLETED) == [judged]
    [recorded] = parts.data.load_results(run_id, TaskStatus.FAILED)
    assert recorded.error_message == "judge_failed: api: nobody had time"
    parts.data.save_result(recorded)
    for save in (parts.data.save_result, parts.data.update_result):
        save(failed)
        with pytest.raises(InvalidInput, match=r"error_message.*\[record-mismatch\]"):
            save(replace(failed, error_message="time"))
        with pytest.raises(InvalidInput, match=r"evaluation_score.*\[record-mismatch\]"):
            save(replace(judged, evaluation_score=1.0))
    with store.connect() as connection:
        uuid = resolve_run(connection, str(run_id))
        assert len(list(find(connection, run_id=uuid, topics=["Judged"]))) == 2
    assert replay(store, uuid).differences == []


def test_a_failure_that_is_saved_again_is_compared_with_the_record(
    parts: BenchmarkParts, store: Store
) -> None:
    parts.data.judge_with("judge")
    run_id = parts.data.create_run(["alpha"])
    failed = Result(run_id=run_id, model_name="alpha", task_id="task-1", status=TaskStatus.FAILED)
    reasoned = replace(failed, task_id="task-2", error_message="the server is away")
    for result in 2 * (failed, reasoned):
        parts.data.save_result(result)
    with pytest.raises(InvalidInput, match=r"error_message.*\[record-mismatch\]"):
        parts.data.save_result(replace(reasoned, error_message="no key"))
    with pytest.raises(InvalidInput, match=r"status.*\[record-mismatch\]"):
        parts.data.save_result(
            replace(reasoned, status=TaskStatus.JUDGEMENT_COMPLETED, evaluation_reason="So so.")
        )


@every(
    ("changes", "code"),
    [
        ({"evaluation_score": 1.5}, "out-of-range"),
        ({"evaluation_score": float("nan")}, "out-of-range"),
        ({"evaluation_reason": " "}, "empty-value"),
        ({"status": TaskStatus.NEW}, "wrong-status"),
        ({"run_id": None}, "missing-field"),
        ({"run_id": 99}, "unknown-run"),
        ({"task_id": "task-9"}, "unknown-case"),
        ({"model_name": "beta"}, "unknown-model"),
        ({"result_id": 77}, "record-mismatch"),
    ],
)
def test_a_judgement_that_can_not_be_is_refused(
    parts: BenchmarkParts, answered: list[Result], changes: dict[str, object], code: str
) -> None:
    judged = {
        "status": TaskStatus.JUDGEMENT_COMPLETED,
        "evaluation_score": 0.5,
        "evaluation_reason": "So so.",
    }
    with pytest.raises(InvalidInput, match=rf"\[{code}\]"):
        parts.data.update_result(replace(answered[0], **{**judged, **changes}))  # type: ignore[arg-type]


def test_what_is_judged_from_outside_is_not_judged_again_when_the_run_goes_on(
    parts: BenchmarkParts, answered: list[Result], store: Store, server: Server
) -> None:
    judged = replace(
        answered[0],
        status=TaskStatus.JUDGEMENT_COMPLETED,
        evaluation_score=0.1,
        evaluation_reason="Read by hand.",
    )
    parts.data.update_result(judged)
    with store.connect() as connection:
        uuid = resolve_run(connection, str(judged.run_id))
    outcome = asyncio.run(
        resume(uuid, store, observe=lambda _: None, stop=asyncio.Event(), say=lambda _: None)
    )
    assert (outcome.status, outcome.counts.scored) == ("completed", 3)
    assert server.order() == ["alpha"] * 3 + ["judge"] * 2
    assert replay(store, uuid).agree == 3


def test_a_run_of_another_dialect_is_no_benchmark(parts: BenchmarkParts) -> None:
    with pytest.raises(InvalidInput, match=r"'7'.*\[unknown-run\]"):
        parts.data.load_results(7, TaskStatus.NEW)
