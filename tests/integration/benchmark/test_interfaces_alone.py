"""Specification 003 is programmed from its interfaces alone: the whole flow of its § 1, no more."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from aiohttp import web

from failproof_es.abstraction.benchmark_api import BenchmarkApi
from failproof_es.abstraction.data_manager_api import DataManagerApi
from failproof_es.abstraction.dataset_loader_api import DataSetLoaderApi
from failproof_es.abstraction.enums import BenchmarkEvent, TaskStatus
from failproof_es.abstraction.implementation.benchmark import Benchmark
from failproof_es.abstraction.llm_manager_api import LLMManagerApi
from failproof_es.abstraction.opened import open_benchmark
from failproof_es.abstraction.prompt_api import PromptApi
from failproof_es.abstraction.task_manager_api import TaskManagerApi
from failproof_es.abstraction.testing import InlineDispatcher, StubTaskManager
from failproof_es.abstraction.types import BenchmarkTask, Result
from failproof_es.engine import replay
from failproof_es.problems import InvalidInput
from failproof_es.store.reading.reader import find, resolve_run
from failproof_es.store.store import Store
from failproof_es.store.writing.lease import RunBusy
from tests.integration.benchmark.conftest import QUESTIONS, Configured, Server
from tests.servers.anthropic_server import AnthropicServer, in_background
from tests.servers.benchmark_server import proved

IN_TIME_S = 30.0
_RELEASE = threading.Event()


class OwnBenchmark:
    """A `BenchmarkApi` as a reader of the specification would write one, on the other five."""

    def __init__(
        self,
        models: LLMManagerApi,
        data: DataManagerApi,
        loader: DataSetLoaderApi,
        prompts: PromptApi,
        tasks: TaskManagerApi,
        dataset_path: str,
    ) -> None:
        self.models, self.data, self.loader = models, data, loader
        self.prompts, self.tasks, self.dataset_path = prompts, tasks, dataset_path
        self.chosen: list[str] = []
        self.judge = ""
        self.heard: list[tuple[BenchmarkEvent, Any]] = []
        self.callbacks: dict[int, tuple[BenchmarkEvent, Callable[[Any], None]]] = {}
        self.total = self.done = 0

    def list_models(self) -> list[str]:
        return self.models.list_models()

    def select_models(self, model_names: list[str]) -> None:
        self.chosen = model_names

    def select_judge_model(self, judge_model_name: str) -> None:
        self.judge = judge_model_name

    def start_benchmark(self) -> int:
        run_id = self.data.create_run(self.chosen)
        tasks = self.loader.load_tasks(self.dataset_path)
        self.data.save_tasks(run_id, tasks)
        self.emit(BenchmarkEvent.STARTED, run_id)
        self.total = len(self.chosen) * len(tasks)
        answered = threading.Semaphore(0)
        for model_name in self.chosen:
            self.models.prepare_model(model_name)
            for task in tasks:
                submission = self.tasks.submit_task(run_id, task, model_name)
                for event in (BenchmarkEvent.ERROR, BenchmarkEvent.COMPLETED):
                    self.tasks.subscribe(submission, event, lambda _: answered.release())
                for event in (BenchmarkEvent.PROGRESS_CHANGED, BenchmarkEvent.STREAMING_RESULT):
                    self.tasks.subscribe(submission, event, lambda n: self.emit(n.event, n))
        for _ in range(self.total):
            assert answered.acquire(timeout=IN_TIME_S)
        self.judge_all(run_id, {task.task_id: task for task in tasks})
        return run_id

    def judge_all(self, run_id: int, tasks: dict[str, BenchmarkTask]) -> None:
        for result in self.data.load_results(run_id, TaskStatus.PENDING_JUDGEMENT):
            self.data.save_result(result)
            prompt = self.prompts.build_judge_prompt(tasks[result.task_id], result.llm_response)
            verdict = json.loads(self.models.generate(self.judge, prompt))
            result.evaluation_score = verdict["score"]
            result.evaluation_reason = verdict["reason"]
            result.status = TaskStatus.JUDGEMENT_COMPLETED
            self.data.update_result(result)
            self.done += 1
            self.emit(BenchmarkEvent.PROGRESS_CHANGED, result)

    def get_progress(self) -> dict[str, float]:
        return {"percent_complete": 100.0 * self.done / self.total}

    def generate_report(self, run_id: int) -> str:
        results = self.data.load_results(run_id, TaskStatus.JUDGEMENT_COMPLETED)
        self.emit(BenchmarkEvent.COMPLETED, run_id)
        return "\n".join(f"{r.model_name} {r.task_id} {r.evaluation_score}" for r in results)

    def subscribe(self, event: BenchmarkEvent, callback: Callable[[Any], None]) -> int:
        self.callbacks[len(self.callbacks) + 1] = (event, callback)
        return len(self.callbacks)

    def unsubscribe(self, token: int) -> None:
        del self.callbacks[token]

    def emit(self, event: BenchmarkEvent, what: Any) -> None:
        for wanted, callback in list(self.callbacks.values()):
            if wanted is event:
                callback(what)


def use(benchmark: BenchmarkApi) -> tuple[int, str, list[Any]]:
    """What a user interface does with a benchmark (§ 1.1, 1.2, 1.5)."""
    heard: list[Any] = []
    assert benchmark.list_models() == ["alpha", "beta", "judge"]
    benchmark.select_models(["alpha", "beta"])
    benchmark.select_judge_model("judge")
    tokens = [benchmark.subscribe(event, heard.append) for event in BenchmarkEvent]
    run_id = benchmark.start_benchmark()
    assert benchmark.get_progress()["percent_complete"] == 100.0
    report = benchmark.generate_report(run_id)
    for token in tokens:
        benchmark.unsubscribe(token)
    return run_id, report, heard


def test_a_program_that_knows_only_the_interfaces_goes_through_the_whole_flow(
    configured: Configured, store: Store, server: Server, tmp_path: Path
) -> None:
    loaded = configured()
    with open_benchmark(loaded.path, store.url, follow=False) as parts:
        own = OwnBenchmark(
            parts.models, parts.data, parts.loader, parts.prompts, parts.tasks,
            str(tmp_path / "tasks"),
        )  # fmt: skip
        run_id, report, heard = use(own)
        assert len(report.splitlines()) == 6
        assert report.splitlines()[0] == "alpha task-1 0.8"
    assert sum(1 for each in heard if isinstance(each, Result)) == 6
    with store.connect() as connection:
        run = resolve_run(connection, str(run_id))
        judged = [row.payload() for row in find(connection, run_id=run, topics=("Judged",))]
        life = [row.topic for row in find(connection, stream_id=run)]
    assert [each["judge"] for each in judged] == ["api"] * 6
    assert "RunCompleted" in life and "RunSealed" in life and "RunPaused" not in life
    assert replay(store, run).agree == 6
    assert server.order().count("judge") == 6


def test_a_judgement_is_taken_while_other_answers_are_on_their_way(
    configured: Configured, store: Store, server: Server
) -> None:
    held = {**_python_model("held"), "model": "held"}
    model = {"provider": "openai", "base_url": server.url, "max_tokens": 50, "model": "alpha"}
    loaded = configured(QUESTIONS[0], models=[model, held])
    _RELEASE.clear()
    with open_benchmark(loaded.path, store.url, follow=False) as parts:
        data: DataManagerApi = parts.data
        tasks: TaskManagerApi = parts.tasks
        run_id = data.create_run(["alpha", "held"])
        [task] = parts.loader.load_tasks(str(loaded.configuration.prompts.path))
        ended = {name: threading.Event() for name in ("alpha", "held")}
        for name, over in ended.items():
            submission = tasks.submit_task(run_id, task, name)
            tasks.subscribe(submission, BenchmarkEvent.COMPLETED, setter(over))
        assert ended["alpha"].wait(IN_TIME_S)
        [result] = data.load_results(run_id, TaskStatus.PENDING_JUDGEMENT)
        result.status = TaskStatus.JUDGEMENT_COMPLETED
        result.evaluation_score, result.evaluation_reason = 0.6, "Read by hand."
        data.update_result(result)
        data.update_result(result)
        assert not ended["held"].is_set()
        _RELEASE.set()
        assert ended["held"].wait(IN_TIME_S)
        over = threading.Event()
        finals: list[Result] = []
        parts.tasks.judge(run_id, finals.append, lambda error: over.set())
        assert over.wait(IN_TIME_S)
        assert [(r.model_name, r.evaluation_score) for r in finals] == [
            ("alpha", 0.6), ("held", 0.8),
        ]  # fmt: skip
    assert server.order().count("judge") == 1
    with store.connect() as connection:
        assert replay(store, resolve_run(connection, str(run_id))).agree == 2


def test_a_judgement_is_refused_while_the_judges_are_asked(
    configured: Configured, store: Store
) -> None:
    judge = {"provider": "python", "class": f"{__name__}:HeldJudge", "model": "judge"}
    _RELEASE.clear()
    with open_benchmark(configured(judge=judge).path, store.url, follow=False) as parts:
        data: DataManagerApi = parts.data
        run_id = data.create_run(["alpha"])
        answered = threading.Semaphore(0)
        for task in parts.data.tasks_of(run_id):
            submission = parts.tasks.submit_task(run_id, task, "alpha")
            parts.tasks.subscribe(
                submission, BenchmarkEvent.COMPLETED, lambda _: answered.release()
            )
        assert all(answered.acquire(timeout=IN_TIME_S) for _ in QUESTIONS)
        over = threading.Event()
        finals: list[Result] = []
        parts.tasks.judge(run_id, finals.append, lambda error: over.set())
        waiting = data.load_results(run_id, TaskStatus.PENDING_JUDGEMENT)
        assert len(waiting) == len(QUESTIONS)
        for result in waiting:
            result.status = TaskStatus.FAILED
            with pytest.raises(RunBusy, match="whose judges are being asked"):
                data.update_result(result)
        _RELEASE.set()
        assert over.wait(IN_TIME_S)
    assert [result.evaluation_score for result in finals] == [0.5] * len(QUESTIONS)


def test_without_a_judge_chosen_the_one_of_the_configuration_judges_and_without_any_it_is_said(
    configured: Configured, store: Store, server: Server
) -> None:
    with open_benchmark(configured().path, store.url, follow=False) as parts:
        run_id = parts.data.create_run(["alpha"])
        assert parts.data.configuration_of(run_id).judge_model_name == "judge"
    with (
        open_benchmark(configured(judge=None).path, store.url, follow=False) as parts,
        pytest.raises(InvalidInput, match="names 0 judges, and none is chosen"),
    ):
        parts.data.create_run(["alpha"])


class Held:
    """A class of one's own that answers when it is let."""

    def __init__(self, api_key: str, model_id: str) -> None:
        self.name = model_id

    def get_completion(self, prompt: str, params: dict[str, Any]) -> str:
        assert _RELEASE.wait(IN_TIME_S)
        return f"{self.name} says: {prompt}"


class HeldJudge(Held):
    """A judge that judges when it is let."""

    def get_completion(self, prompt: str, params: dict[str, Any]) -> str:
        super().get_completion(prompt, params)
        return proved('{"score": 0.5, "reason": "At last."}', prompt)


def setter(over: threading.Event) -> Callable[[Any], None]:
    return lambda notice: over.set()


def _python_model(name: str) -> dict[str, Any]:
    return {"provider": "python", "class": f"{__name__}:Held", "model": name}


class HeldAnthropic(AnthropicServer):
    async def _messages(self, request: web.Request) -> web.Response:
        assert await asyncio.to_thread(_RELEASE.wait, IN_TIME_S)
        return await super()._messages(request)


@pytest.mark.parametrize("provider", ["openai", "anthropic", "python"])
def test_every_provider_is_heard_to_stream_and_what_comes_whole_comes_as_one_piece(
    configured: Configured,
    store: Store,
    server: Server,
    monkeypatch: pytest.MonkeyPatch,
    provider: str,
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant")
    _RELEASE.clear()
    with in_background(HeldAnthropic()) as anthropic:
        model = {
            "openai": {"provider": "openai", "base_url": server.url, "model": "alpha"},
            "anthropic": {"provider": "anthropic", "base_url": anthropic.url, "model": "alpha"},
            "python": _python_model("alpha"),
        }[provider]
        question = QUESTIONS[0]
        allow = (f"ANTHROPIC_API_KEY={urlsplit(anthropic.url).netloc}",)
        loaded = configured(question, models=[model])
        with open_benchmark(loaded.path, store.url, follow=False, allow=allow) as parts:
            tasks: TaskManagerApi = parts.tasks
            run_id = parts.data.create_run(["alpha"])
            [task] = parts.loader.load_tasks(str(loaded.configuration.prompts.path))
            said: list[str] = []
            over = threading.Event()
            if provider == "openai":
                parts.tasks._subscriptions.open(1)  # its server waits for nobody
            else:
                tasks.submit_task(run_id, task, "alpha")
            tasks.subscribe(1, BenchmarkEvent.STREAMING_RESULT, lambda n: said.append(n.text))
            tasks.subscribe(1, BenchmarkEvent.COMPLETED, lambda _: over.set())
            tasks.submit_task(run_id, task, "alpha")
            _RELEASE.set()
            assert over.wait(IN_TIME_S)
            [result] = parts.data.load_results(run_id, TaskStatus.PENDING_JUDGEMENT)
            pieces: list[str] = []
            models: LLMManagerApi = parts.models
            models.stream_generate("alpha", question, pieces.append)
        for heard in (said, pieces):
            assert "".join(heard) == result.llm_response
            assert question in result.llm_response
            assert heard and (provider == "openai" or len(heard) == 1)


def test_the_shipped_stub_works_under_the_shipped_benchmark(
    configured: Configured, store: Store, server: Server
) -> None:
    loaded = configured()
    with open_benchmark(loaded.path, store.url, follow=False) as parts:
        tasks = StubTaskManager()
        benchmark = Benchmark(
            parts.models, parts.data, parts.loader, tasks,
            dataset_path=str(loaded.configuration.prompts.path),
            report=lambda run_id: f"{run_id}.html", dispatcher=InlineDispatcher(),
            flow=InlineDispatcher(),
        )  # fmt: skip
        heard: list[Any] = []
        for event in BenchmarkEvent:
            benchmark.subscribe(event, heard.append)
        benchmark.select_models(["alpha", "beta"])
        benchmark.select_judge_model("judge")
        run_id = benchmark.start_benchmark()
        assert len(tasks.submitted) == 6
        for submission in list(tasks.submitted)[:5]:
            tasks.emit(submission, BenchmarkEvent.STREAMING_RESULT, text="Bl")
            tasks.emit(submission, BenchmarkEvent.COMPLETED, text="Blue.")
        tasks.emit(6, BenchmarkEvent.ERROR, error="no answer")
        assert benchmark.get_progress()["answered_tasks"] == 5.0
        for submission in range(1, 6):
            assert benchmark.get_progress()["percent_complete"] < 100.0
            tasks.grade(submission, 0.8, "It is a good answer.")
        assert benchmark.get_progress() == {
            "total_tasks": 6.0, "completed_tasks": 6.0, "percent_complete": 100.0,
            "answered_tasks": 5.0, "judged_tasks": 5.0, "failed_tasks": 1.0,
        }  # fmt: skip
        assert benchmark.generate_report(run_id) == f"{run_id}.html"
    assert heard[0].event is BenchmarkEvent.STARTED
    assert heard[-1].event is BenchmarkEvent.COMPLETED
    assert sum(n.event is BenchmarkEvent.STREAMING_RESULT for n in heard) == 5
    assert server.order() == []
