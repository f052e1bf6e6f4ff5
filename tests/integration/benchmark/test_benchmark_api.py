"""The flow of specification 003 from Python, through `BenchmarkApi`, on a scripted server."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import orjson
import pytest

from failproof_es.abstraction.enums import BenchmarkEvent, TaskStatus
from failproof_es.abstraction.implementation.benchmark import BenchmarkSession
from failproof_es.abstraction.implementation.subscriptions import UnknownSubmission, UnknownToken
from failproof_es.abstraction.notices import Notice
from failproof_es.abstraction.opened import BenchmarkParts, open_benchmark
from failproof_es.engine.replays.replay import replay
from failproof_es.problems import InvalidInput
from failproof_es.store.ledger import newest_checkpoint
from failproof_es.store.reading.reader import find, resolve_run
from failproof_es.store.store import Store
from tests.acceptance.commands import invoke
from tests.integration.benchmark.conftest import QUESTIONS, Configured, Server
from tests.servers.benchmark_server import judge_says

IN_TIME_S = 30.0

Opened = Callable[..., AbstractContextManager[BenchmarkParts]]


@pytest.fixture
def opened(configured: Configured, store: Store) -> Opened:
    """Opens a benchmark of some questions on the test's own log."""

    def open_(*questions: str, **changes: Any) -> AbstractContextManager[BenchmarkParts]:
        return open_benchmark(configured(*questions, **changes).path, store.url, follow=False)

    return open_


@pytest.fixture
def parts(opened: Opened) -> Iterator[BenchmarkParts]:
    """The benchmark of three questions."""
    with opened() as parts:
        yield parts


class Heard:
    """Everything that a benchmark says, and when it is over."""

    def __init__(self, benchmark: BenchmarkSession) -> None:
        self.notices: list[Notice] = []
        self._over = threading.Event()
        for event in BenchmarkEvent:
            benchmark.subscribe(event, self._hear)

    def _hear(self, notice: Notice) -> None:
        self.notices.append(notice)
        done = notice.progress is not None and notice.progress.percent_complete == 100.0
        if done or notice.event is BenchmarkEvent.ERROR:
            self._over.set()

    def wait(self) -> list[Notice]:
        """Wait until the run is 100 % complete, or in trouble."""
        assert self._over.wait(IN_TIME_S), self.notices[-3:]
        return self.notices

    def of(self, event: BenchmarkEvent) -> list[Notice]:
        return [notice for notice in self.notices if notice.event is event]

    def streamed(self) -> dict[tuple[str, str], str]:
        """What was streamed of each answer, by its task and model."""
        said: dict[tuple[str, str], str] = {}
        for notice in self.of(BenchmarkEvent.STREAMING_RESULT):
            key = (notice.task_id, notice.model_name)
            said[key] = said.get(key, "") + notice.text
        return said


def run_through(parts: BenchmarkParts) -> tuple[int, Heard]:
    """Choose, begin, and wait for the end."""
    heard = Heard(parts.benchmark)
    parts.benchmark.select_models(["alpha", "beta"])
    parts.benchmark.select_judge_model("judge")
    run_id = parts.benchmark.start_benchmark()
    heard.wait()
    return run_id, heard


def test_a_benchmark_runs_from_choosing_to_its_report(
    configured: Configured, store: Store, server: Server, tmp_path: Path
) -> None:
    with open_benchmark(
        configured().path, store.url, follow=False, reports=tmp_path / "reports"
    ) as parts:
        assert parts.benchmark.list_models() == ["alpha", "beta", "judge"]
        run_id, heard = run_through(parts)
        assert run_id == 1
        assert parts.benchmark.get_progress() == {
            "total_tasks": 6.0, "completed_tasks": 6.0, "percent_complete": 100.0,
            "answered_tasks": 6.0, "judged_tasks": 6.0, "failed_tasks": 0.0,
        }  # fmt: skip
        results = parts.data.load_results(run_id, TaskStatus.JUDGEMENT_COMPLETED)
        assert_report_completes_once(parts, run_id, heard)
    assert [(r.result_id, r.task_id, r.model_name) for r in results] == [
        (1, "task-1", "alpha"), (2, "task-1", "beta"), (3, "task-2", "alpha"),
        (4, "task-2", "beta"), (5, "task-3", "alpha"), (6, "task-3", "beta"),
    ]  # fmt: skip
    assert {(r.evaluation_score, r.evaluation_reason) for r in results} == {
        (0.8, "It is a good answer.")
    }
    assert results[0].llm_response == f"alpha says: {QUESTIONS[0]}"
    assert heard.notices[0].event is BenchmarkEvent.STARTED
    assert server.order()[6:] == ["judge"] * 6
    assert heard.streamed() == {(r.task_id, r.model_name): r.llm_response for r in results}
    assert_progress_goes_on_and_is_complete_once(heard)
    assert_is_an_ordinary_run(store, run_id)


def assert_report_completes_once(parts: BenchmarkParts, run_id: int, heard: Heard) -> None:
    path = parts.benchmark.generate_report(run_id)
    parts.benchmark.generate_report(run_id)
    late = threading.Event()
    parts.benchmark.subscribe(BenchmarkEvent.COMPLETED, lambda _: late.set())
    assert late.wait(IN_TIME_S)
    with pytest.raises(InvalidInput, match=r"'9'.*\[unknown-run\]"):
        parts.benchmark.generate_report(9)
    assert [notice.report_path for notice in heard.of(BenchmarkEvent.COMPLETED)] == [path]
    assert Path(path).read_text().startswith("<!")


def assert_progress_goes_on_and_is_complete_once(heard: Heard) -> None:
    shown = [n.progress for n in heard.of(BenchmarkEvent.PROGRESS_CHANGED)]
    done = [each.completed_tasks for each in shown if each is not None]
    assert done == sorted(done)
    assert done.count(6) == 1


def assert_is_an_ordinary_run(store: Store, run_id: int) -> None:
    with store.connect() as connection:
        uuid = resolve_run(connection, str(run_id))
        topics = {row.topic for row in find(connection, run_id=uuid)}
        life = [row.topic for row in find(connection, stream_id=uuid)]
    assert {"RunStarted", "CasesPlanned", "RunCompleted", "RunSealed", "Judged"} <= topics
    assert life[:4] == ["RunStarted", "CasesPlanned", "PricesRecorded", "RunCompleted"]
    assert replay(store, uuid).agree == 6


def test_a_name_where_a_list_of_models_is_expected_is_one_error(
    configured: Configured, store: Store
) -> None:
    with open_benchmark(configured().path, store.url, follow=False) as parts:
        name: Any = "alpha"
        for choose in (parts.benchmark.select_models, parts.data.create_run):
            with pytest.raises(InvalidInput) as refused:
                choose(name)
            [problem] = refused.value.problems
            assert (problem.code, problem.field) == ("wrong-type", "model_names")


def test_a_model_that_is_configured_as_the_judge_judges_as_it_is_configured(
    configured: Configured, store: Store, server: Server
) -> None:
    model = {"provider": "openai", "base_url": server.url, "model": "judge"}
    loaded = configured(
        models=[{**model, "max_tokens": 50}],
        judge={**model, "max_tokens": 60, "structured_output": True},
    )
    with open_benchmark(loaded.path, store.url, follow=False) as parts:
        heard = Heard(parts.benchmark)
        parts.benchmark.select_models(["judge"])
        parts.benchmark.select_judge_model("judge")
        parts.benchmark.start_benchmark()
        heard.wait()
    with store.connect() as connection:
        asked = [row.payload() for row in find(connection, topics=("RequestSent",))]
    by_purpose = {each["purpose"]: orjson.loads(each["body"]) for each in asked}
    assert by_purpose["target"]["max_tokens"] == 50
    assert by_purpose["judge"]["max_tokens"] == 60
    assert "response_format" in by_purpose["judge"]


def test_beside_the_run_the_log_is_signed_and_the_projections_follow(
    configured: Configured, store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    with open_benchmark(configured().path, store.url) as parts:
        run_through(parts)
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []
    with store.connect() as connection:
        answers = connection.execute("SELECT count(*) FROM projections.run_results").fetchone()
        assert answers == (6,)
        assert newest_checkpoint(connection) is not None


def test_begun_without_models_or_judge_it_says_both(parts: BenchmarkParts) -> None:
    with pytest.raises(InvalidInput) as caught:
        parts.benchmark.start_benchmark()
    assert [each.code for each in caught.value.problems] == ["no-model", "no-judge"]


def test_a_choice_of_what_there_is_not_names_what_there_is(parts: BenchmarkParts) -> None:
    with pytest.raises(InvalidInput, match=r"'gamma'.*alpha, beta, judge.*\[unknown-model\]"):
        parts.benchmark.select_models(["alpha", "gamma"])
    with pytest.raises(InvalidInput, match=r"'alpha'.*\[duplicate-name\]"):
        parts.benchmark.select_models(["alpha", "alpha"])


def test_a_callback_that_raises_or_blocks_harms_no_run_and_is_reported(
    configured: Configured, store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    release = threading.Event()

    def block(notice: Notice) -> None:
        release.wait(IN_TIME_S)
        raise SystemExit("out of here")

    with (
        caplog.at_level(logging.WARNING, "failproof_es.abstraction"),
        open_benchmark(configured().path, store.url, follow=False, slow_callback_s=0.05) as parts,
    ):
        benchmark = parts.benchmark
        benchmark.subscribe(BenchmarkEvent.STARTED, block)
        benchmark.select_models(["alpha", "beta"])
        benchmark.select_judge_model("judge")
        run_id = benchmark.start_benchmark()
        deadline = time.monotonic() + IN_TIME_S
        while benchmark.get_progress()["percent_complete"] < 100:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        release.set()
        assert len(parts.data.load_results(run_id, TaskStatus.JUDGEMENT_COMPLETED)) == 6
    said = " ".join(record.getMessage() for record in caplog.records)
    assert "a benchmark callback takes" in said
    assert "raised; the run goes on" in said


def test_an_answer_that_fails_or_is_not_judged_is_failed_and_the_others_are_judged(
    opened: Opened,
) -> None:
    odd = f"Odd? {judge_says('I like it.')}"
    with opened("Fine?", "Broken? [http:400]", "Cut? [cut]", "Kept? [withheld]", odd) as parts:
        run_id, heard = run_through(parts)
        assert parts.benchmark.get_progress() == {
            "total_tasks": 10.0, "completed_tasks": 10.0, "percent_complete": 100.0,
            "answered_tasks": 8.0, "judged_tasks": 2.0, "failed_tasks": 8.0,
        }  # fmt: skip
        failed = parts.data.load_results(run_id, TaskStatus.FAILED)
        kinds = [(r.error_message or "").split(":")[0] for r in failed]
        assert kinds == [
            kind
            for kind in ("bad_request", "truncated", "content_filter", "judge_failed")
            for _ in range(2)
        ]
        assert [r.task_id for r in failed[-2:]] == ["task-5"] * 2
        assert all(r.llm_response for r in failed[-2:]), "its answer is kept"
        assert {r.evaluation_score for r in failed} == {-1.0}
        assert heard.of(BenchmarkEvent.ERROR) == []


class Waiting:
    """A class of one's own that answers when it is let."""

    let = threading.Event()

    def __init__(self, api_key: str | None, model_id: str) -> None:
        self.name = model_id

    def get_completion(self, prompt: str, params: dict[str, Any]) -> str:
        assert self.let.wait(IN_TIME_S)
        return f"{self.name} says: {prompt}"


def test_a_second_run_has_the_next_number_and_none_begins_while_one_goes(
    opened: Opened, store: Store, tmp_path: Path
) -> None:
    model = {"provider": "python", "class": f"{__name__}:Waiting", "model": "waiting"}
    with opened(models=[model]) as parts:
        for number in (1, 2):
            Waiting.let.clear()
            heard = Heard(parts.benchmark)
            parts.benchmark.select_models(["waiting"])
            parts.benchmark.select_judge_model("judge")
            assert parts.benchmark.start_benchmark() == number
            with pytest.raises(InvalidInput, match=rf"run {number} .*\[run-not-ended\]"):
                parts.benchmark.start_benchmark()
            with pytest.raises(InvalidInput, match=rf"run {number} .*\[run-not-ended\]"):
                parts.benchmark.resume_benchmark(number)
            Waiting.let.set()
            heard.wait()
    shown = invoke(store.url, "show", "2", "--format", "json", cwd=tmp_path)
    assert orjson.loads(shown.stdout)["run_number"] == 2


def test_tokens_unknown_are_an_error_and_unsubscribing_twice_is_not(parts: BenchmarkParts) -> None:
    token = parts.benchmark.subscribe(BenchmarkEvent.STARTED, print)
    parts.benchmark.unsubscribe(token)
    parts.benchmark.unsubscribe(token)
    with pytest.raises(UnknownToken):
        parts.benchmark.unsubscribe(token + 1)
    with pytest.raises(UnknownSubmission):
        parts.tasks.subscribe(99, BenchmarkEvent.STARTED, print)


def test_subscribing_late_to_a_finished_submission_delivers_its_last_word_at_once(
    parts: BenchmarkParts,
) -> None:
    parts.data.judge_with("judge")
    run_id = parts.data.create_run(["alpha"])
    tasks = parts.loader.load_tasks(parts.benchmark._dataset_path)
    submission = parts.tasks.submit_task(run_id, tasks[0], "alpha")
    assert parts.tasks.submit_task(run_id, tasks[0], "alpha") == submission
    first, late = threading.Event(), threading.Event()
    parts.tasks.subscribe(submission, BenchmarkEvent.COMPLETED, lambda _: first.set())
    assert first.wait(IN_TIME_S)
    heard: list[Notice] = []
    parts.tasks.subscribe(submission, BenchmarkEvent.ERROR, heard.append)
    parts.tasks.subscribe(submission, BenchmarkEvent.COMPLETED, heard.append)
    parts.tasks.subscribe(submission, BenchmarkEvent.COMPLETED, lambda _: late.set())
    assert late.wait(IN_TIME_S)
    assert [(n.event, n.result and n.result.status) for n in heard] == [
        (BenchmarkEvent.COMPLETED, TaskStatus.PENDING_JUDGEMENT)
    ]
