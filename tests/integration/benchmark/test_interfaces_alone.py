"""Specification 003 is programmed from its interfaces alone: the whole flow of its § 1, no more."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from aiohttp import web

from failproof_es.abstraction.benchmark_api import BenchmarkApi
from failproof_es.abstraction.data_manager_api import DataManagerApi
from failproof_es.abstraction.dataset_loader_api import DataSetLoaderApi
from failproof_es.abstraction.enums import BenchmarkEvent, TaskStatus
from failproof_es.abstraction.implementation import llm_manager
from failproof_es.abstraction.implementation.benchmark import BenchmarkSession
from failproof_es.abstraction.implementation.dispatcher import Dispatcher
from failproof_es.abstraction.llm_manager_api import LLMManagerApi
from failproof_es.abstraction.notices import Notice
from failproof_es.abstraction.opened import open_benchmark
from failproof_es.abstraction.prompt_api import PromptApi
from failproof_es.abstraction.task_manager_api import TaskManagerApi
from failproof_es.abstraction.testing import InlineDispatcher, StubTaskManager
from failproof_es.abstraction.types import BenchmarkTask, Result
from failproof_es.engine.history import read_run
from failproof_es.engine.replays.replay import replay
from failproof_es.events import AnswerImported
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
        pytest.raises(InvalidInput, match=r"\[no-judge\]"),
    ):
        parts.data.create_run(["alpha"])


class HeldClient:
    """A class of one's own that answers when it is let."""

    def __init__(self, api_key: str, model_id: str) -> None:
        self.name = model_id

    def get_completion(self, prompt: str, params: dict[str, Any]) -> str:
        assert _RELEASE.wait(IN_TIME_S)
        return f"{self.name} says: {prompt}"


class HeldJudge(HeldClient):
    """A judge that judges when it is let."""

    def get_completion(self, prompt: str, params: dict[str, Any]) -> str:
        super().get_completion(prompt, params)
        return proved('{"score": 0.5, "reason": "At last."}', prompt)


def setter(over: threading.Event) -> Callable[[Any], None]:
    return lambda notice: over.set()


def _python_model(name: str) -> dict[str, Any]:
    return {"provider": "python", "class": f"{__name__}:HeldClient", "model": name}


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
        benchmark = BenchmarkSession(
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


class OwnTasks:
    """A `TaskManagerApi` of three methods, as § 1.3 describes one: a thread for each submission."""

    def __init__(self, models: LLMManagerApi, data: DataManagerApi, prompts: PromptApi) -> None:
        self.models, self.data, self.prompts = models, data, prompts
        self.subscribed: dict[int, tuple[int, BenchmarkEvent, Callable[[Any], None]]] = {}
        self.submissions = 0
        self.threads: list[threading.Thread] = []
        self.listening = threading.Event()
        self.saving = threading.Lock()

    def submit_task(self, run_id: int, task: BenchmarkTask, model_name: str) -> int:
        self.submissions += 1
        work = (self.submissions, run_id, task, model_name)
        self.threads.append(threading.Thread(target=self.answer, args=work, daemon=True))
        self.threads[-1].start()
        return self.submissions

    def subscribe(
        self, submission_id: int, event: BenchmarkEvent, callback: Callable[[Any], None]
    ) -> int:
        self.subscribed[len(self.subscribed) + 1] = (submission_id, event, callback)
        return len(self.subscribed)

    def unsubscribe(self, token: int) -> None:
        del self.subscribed[token]

    def answer(self, submission: int, run_id: int, task: BenchmarkTask, model_name: str) -> None:
        assert self.listening.wait(IN_TIME_S)
        try:
            prompt = self.prompts.build_generation_prompt(task)
            self.models.prepare_model(model_name)
            pieces: list[str] = []
            self.models.stream_generate(model_name, prompt, pieces.append)
            if model_name == "beta" and task.task_id == "task-2":
                raise RuntimeError("the task manager is out of order")
            result = Result(
                run_id=run_id, model_name=model_name, task_id=task.task_id,
                llm_response="".join(pieces), time_taken_ms=12, tokens_generated=5,
                status=TaskStatus.PENDING_JUDGEMENT,
            )  # fmt: skip
            with self.saving:
                self.data.save_result(result)
        except Exception as error:
            failed = Result(run_id=run_id, model_name=model_name, task_id=task.task_id,
                            status=TaskStatus.FAILED, error_message=str(error))  # fmt: skip
            with self.saving:
                self.data.save_result(failed)
            self.emit(submission, BenchmarkEvent.ERROR, str(error))
        else:
            self.emit(submission, BenchmarkEvent.STREAMING_RESULT, result.llm_response)
            self.emit(submission, BenchmarkEvent.COMPLETED, None)
            self.emit(submission, BenchmarkEvent.COMPLETED, result)

    def emit(self, submission: int, event: BenchmarkEvent, payload: Any) -> None:
        for wanted, kind, callback in list(self.subscribed.values()):
            if (wanted, kind) == (submission, event):
                callback(payload)


class FiveMethods:
    """A `DataManagerApi` and nothing more, over another one."""

    def __init__(self, data: DataManagerApi) -> None:
        self.create_run = data.create_run
        self.save_tasks = data.save_tasks
        self.save_result = data.save_result
        self.load_results = data.load_results
        self.update_result = data.update_result


@pytest.mark.parametrize("own_prompts", [False, True])
def test_the_shipped_benchmark_works_over_the_interfaces_methods_alone(
    configured: Configured, store: Store, server: Server, own_prompts: bool
) -> None:
    class OwnPrompts:
        def __init__(self, prompts: PromptApi) -> None:
            self.build_generation_prompt = prompts.build_generation_prompt
            self.build_judge_prompt = prompts.build_judge_prompt

    loaded = configured()
    with open_benchmark(loaded.path, store.url, follow=False) as parts:
        data = FiveMethods(parts.data)
        tasks = OwnTasks(parts.models, data, parts.prompts)
        flow = Dispatcher()
        benchmark = BenchmarkSession(
            parts.models, data, parts.loader, tasks,
            dataset_path=str(loaded.configuration.prompts.path),
            report=lambda run_id: f"{run_id}.html", dispatcher=InlineDispatcher(), flow=flow,
            prompts=OwnPrompts(parts.prompts) if own_prompts else None,
        )  # fmt: skip
        over = threading.Event()
        heard: list[Any] = []
        benchmark.subscribe(BenchmarkEvent.STREAMING_RESULT, heard.append)

        def progressed(notice: Notice) -> None:
            if notice.progress is not None and notice.progress.percent_complete == 100.0:
                over.set()

        benchmark.subscribe(BenchmarkEvent.PROGRESS_CHANGED, progressed)
        benchmark.select_models(["alpha", "beta"])
        benchmark.select_judge_model("judge")
        run_id = benchmark.start_benchmark()
        tasks.listening.set()
        assert over.wait(IN_TIME_S)
        assert benchmark.get_progress() == {
            "total_tasks": 6, "completed_tasks": 6, "percent_complete": 100, "answered_tasks": 5,
            "judged_tasks": 5, "failed_tasks": 1,
        }  # fmt: skip
        assert benchmark.generate_report(run_id) == f"{run_id}.html"
        assert len(heard) == 5 and all(notice.text for notice in heard)
        with pytest.raises(InvalidInput, match=r"\[unsupported-feature\]"):
            benchmark.resume_benchmark(run_id)
        judged = data.load_results(run_id, TaskStatus.JUDGEMENT_COMPLETED)
        assert [each.evaluation_score for each in judged] == [0.8] * 5
        assert all(each.time_taken_ms == 12 and each.tokens_generated == 5 for each in judged)
        (failed,) = data.load_results(run_id, TaskStatus.FAILED)
        assert "the task manager is out of order" in str(failed.error_message)
        flow.close()
    assert server.order().count("judge") == 5
    _is_on_record_as_brought(store, run_id)


def _is_on_record_as_brought(store: Store, run_id: int) -> None:
    """The run has ended, is valid and replayed, and says of each answer who brought it."""
    with store.connect() as connection:
        run = resolve_run(connection, str(run_id))
        rows = list(find(connection, run_id=run))
    topics = [row.topic for row in rows]
    assert topics.count("AnswerImported") == 6 and "RequestSent" not in topics
    given = [row.event() for row in rows if row.topic == "AnswerImported"]
    assert {event.given_by for event in given if isinstance(event, AnswerImported)} == {"api"}
    judges = [row.payload()["judge"] for row in rows if row.topic == "Judged"]
    assert judges == ["api"] * 5
    (validated,) = [row.payload() for row in rows if row.topic == "RunValidated"]
    assert validated["passed"], validated["findings"]
    assert "RunCompleted" in topics and "RunSealed" in topics
    report = replay(store, run)
    assert (report.agree, report.differences) == (6, [])


def test_the_engines_judges_judge_an_answer_that_somebody_brought(
    configured: Configured, store: Store, server: Server
) -> None:
    with open_benchmark(configured(QUESTIONS[0]).path, store.url, follow=False) as parts:
        parts.data.judge_with("judge")
        run_id = parts.data.create_run(["alpha"])
        brought = Result(run_id=run_id, model_name="alpha", task_id="task-1", llm_response="Blue.",
                         status=TaskStatus.PENDING_JUDGEMENT)  # fmt: skip
        parts.data.save_result(brought)
        parts.data.save_result(brought)
        with pytest.raises(InvalidInput, match=r"llm_response.*\[record-mismatch\]"):
            parts.data.save_result(replace(brought, llm_response="Green."))
        over = threading.Event()
        finals: list[Result] = []
        [task] = parts.data.tasks_of(run_id)
        parts.tasks.submit_task(run_id, task, "alpha")
        parts.tasks.judge(run_id, finals.append, lambda error: over.set())
        assert over.wait(IN_TIME_S)
    assert [(each.llm_response, each.evaluation_score) for each in finals] == [("Blue.", 0.8)]
    assert server.order() == ["judge"]
    with store.connect() as connection:
        run = resolve_run(connection, str(run_id))
        (validated,) = find(connection, run_id=run, topics=["RunValidated"])
    assert validated.payload()["passed"]
    assert replay(store, run).agree == 1


def test_an_answer_that_brings_its_judgement_is_saved_with_it(
    configured: Configured, store: Store
) -> None:
    with open_benchmark(configured(QUESTIONS[0]).path, store.url, follow=False) as parts:
        run_id = parts.data.create_run(["alpha"])
        judged = Result(run_id=run_id, model_name="alpha", task_id="task-1", llm_response="Blue.",
                        status=TaskStatus.JUDGEMENT_COMPLETED, evaluation_score=0.9,
                        evaluation_reason="Blue it is.")  # fmt: skip
        parts.data.save_result(judged)
        [found] = parts.data.load_results(run_id, TaskStatus.JUDGEMENT_COMPLETED)
        assert (found.llm_response, found.evaluation_score) == ("Blue.", 0.9)
    with store.connect() as connection:
        assert read_run(connection, resolve_run(connection, str(run_id))).status == "completed"


def test_several_threads_open_each_model_once_and_close_it(
    configured: Configured, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[Any] = []
    create = vars(llm_manager)["create_provider"]

    def counted(*arguments: Any, **named: Any) -> Any:
        provider = create(*arguments, **named)
        closed = provider.close

        async def close() -> None:
            opened.remove(provider)
            await closed()

        monkeypatch.setattr(provider, "close", close)
        opened.append(provider)
        return provider

    monkeypatch.setattr(llm_manager, "create_provider", counted)
    with open_benchmark(configured().path, store.url, follow=False) as parts:
        models: LLMManagerApi = parts.models
        pieces: list[str] = []
        work: list[Callable[[], object]] = [
            lambda: models.prepare_model("alpha"),
            lambda: models.generate("alpha", "Hello"),
            lambda: models.stream_generate("alpha", "Hello", pieces.append),
        ] * 4
        threads = [threading.Thread(target=each) for each in work]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(IN_TIME_S)
        assert len(opened) == 1, "alpha streams as it is configured: all three ask by one provider"
    assert opened == []
