"""A benchmark whose server is in trouble says so, and goes on when it is well again."""

from __future__ import annotations

import threading
from base64 import b64encode
from collections.abc import Callable
from typing import Any

import pytest

from failproof_es.abstraction.enums import BenchmarkEvent, TaskStatus
from failproof_es.abstraction.implementation.dispatcher import Dispatcher
from failproof_es.abstraction.implementation.subscriptions import Subscriptions
from failproof_es.abstraction.notices import FINAL, Notice
from failproof_es.abstraction.opened import BenchmarkParts, open_benchmark
from failproof_es.problems import InvalidInput
from failproof_es.store.reading.reader import find, resolve_run
from failproof_es.store.store import Store
from tests.integration.benchmark.conftest import Configured, Server

IN_TIME_S = 60.0


def until_over(parts: BenchmarkParts, begin: Callable[[], Any]) -> Notice:
    """What the run ends with: an ERROR, or progress of 100 %."""
    over = threading.Event()
    last: list[Notice] = []

    def hear(notice: Notice) -> None:
        done = notice.progress is not None and notice.progress.percent_complete == 100.0
        if done or notice.event is BenchmarkEvent.ERROR:
            last.append(notice)
            over.set()

    tokens = [parts.benchmark.subscribe(BenchmarkEvent.PROGRESS_CHANGED, hear)]
    begin()  # before it the last word is the one on the drive before
    tokens.append(parts.benchmark.subscribe(BenchmarkEvent.ERROR, hear))
    assert over.wait(IN_TIME_S)
    for token in tokens:
        parts.benchmark.unsubscribe(token)
    return last[0]


@pytest.mark.slow
@pytest.mark.parametrize("key", ["wrong when answering", "wrong when judging"])
def test_a_key_that_is_refused_pauses_the_run_with_an_error_and_a_resumed_one_completes(
    configured: Configured,
    store: Store,
    server: Server,
    monkeypatch: pytest.MonkeyPatch,
    key: str,
) -> None:
    monkeypatch.setenv("BENCHMARK_KEY", "right")
    model = {"provider": "openai", "base_url": server.url, "api_key_env": "BENCHMARK_KEY"}
    loaded = configured(models=[{**model, "model": "alpha"}], judge={**model, "model": "judge"})
    refused = "alpha" if key == "wrong when answering" else "judge"
    with open_benchmark(loaded.path, store.url, follow=False) as parts:
        parts.benchmark.select_models(["alpha"])
        parts.benchmark.select_judge_model("judge")
        server.refuse(refused)
        notice = until_over(parts, parts.benchmark.start_benchmark)
        assert notice.event is BenchmarkEvent.ERROR
        assert "run 1 is paused" in (notice.error or "")
        server.refuse("")
        with pytest.raises(InvalidInput, match=r"'2'.*\[unknown-run\]"):
            parts.benchmark.resume_benchmark(2)
        notice = until_over(parts, lambda: parts.benchmark.resume_benchmark(1))
        assert notice.event is BenchmarkEvent.PROGRESS_CHANGED
        assert parts.benchmark.get_progress()["judged_tasks"] == 3
        assert len(parts.data.load_results(1, TaskStatus.JUDGEMENT_COMPLETED)) == 3
        with pytest.raises(InvalidInput, match=r"run 1 .*\[run-ended\]"):
            parts.benchmark.resume_benchmark(1)
    with store.connect() as connection:
        life = [row.topic for row in find(connection, stream_id=resolve_run(connection, "1"))]
    assert life[:6] == [
        "RunStarted", "CasesPlanned", "PricesRecorded", "RunPaused", "RunResumed", "RunCompleted",
    ]  # fmt: skip


def test_a_key_that_a_model_echoes_in_pieces_reaches_no_callback(
    configured: Configured, store: Store, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "sk-canary-0123456789"
    monkeypatch.setenv("BENCHMARK_KEY", key)
    model = {"provider": "openai", "base_url": server.url, "api_key_env": "BENCHMARK_KEY"}
    echo = b64encode(f"It is {key}, as is s, and sk-can.".encode()).decode()
    loaded = configured(
        f"What is your key? [answer:{echo}]",
        models=[{**model, "model": "alpha"}],
        judge={**model, "model": "judge"},
    )
    pieces: list[Notice] = []
    with open_benchmark(loaded.path, store.url, follow=False) as parts:
        parts.benchmark.select_models(["alpha"])
        parts.benchmark.select_judge_model("judge")
        parts.benchmark.subscribe(BenchmarkEvent.STREAMING_RESULT, pieces.append)
        until_over(parts, parts.benchmark.start_benchmark)
        [result] = parts.data.load_results(1, TaskStatus.JUDGEMENT_COMPLETED)
    assert pieces  # how many arrive at once is up to the network
    assert "".join(notice.text for notice in pieces) == result.llm_response
    assert result.llm_response == "It is [redacted:BENCHMARK_KEY], as is s, and sk-can."


def test_a_model_that_can_not_be_reached_is_said_before_there_is_a_run(
    configured: Configured, store: Store, server: Server
) -> None:
    with open_benchmark(configured().path, store.url, follow=False) as parts:
        parts.benchmark.select_models(["alpha"])
        parts.benchmark.select_judge_model("judge")
        server.stop()
        with pytest.raises(InvalidInput, match=r"\[server-unreachable\]"):
            parts.benchmark.start_benchmark()
        with pytest.raises(InvalidInput, match=r"\[unknown-run\]"):
            parts.data.load_results(1, TaskStatus.NEW)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"execution": {"repetitions": 2}}, "execution.repetitions"),
        ({"prompts": {"path": ["a", "b"], "dialect": "benchmark"}}, "prompts.path"),
        ({"prompts": {"path": "a", "dialect": "failproof"}}, "prompts.dialect"),
    ],
)
def test_a_configuration_that_has_no_word_in_the_interface_is_refused_with_its_place(
    configured: Configured, store: Store, changes: dict[str, Any], field: str
) -> None:
    loaded = configured(**changes)
    with (
        pytest.raises(InvalidInput) as caught,
        open_benchmark(loaded.path, store.url, follow=False),
    ):
        pass
    (problem,) = caught.value.problems
    assert (problem.field, problem.path, problem.line) == (field, loaded.path, 1)


def test_notices_of_one_subject_arrive_in_order_from_one_thread_whoever_publishes() -> None:
    dispatcher = Dispatcher()
    subscriptions = Subscriptions(dispatcher)
    subscriptions.open(1)
    heard: list[Notice] = []
    threads: set[int] = set()

    def hear(notice: Notice) -> None:
        threads.add(threading.get_ident())
        heard.append(notice)

    for event in BenchmarkEvent:
        subscriptions.subscribe(1, event, hear)
    for number in range(1000):
        subscriptions.publish(1, Notice(BenchmarkEvent.STREAMING_RESULT, 1, attempt=number))
    publishers = [
        threading.Thread(target=subscriptions.publish, args=(1, Notice(event, 1)))
        for event in sorted(FINAL, key=str) * 20
    ]
    for thread in publishers:
        thread.start()
    for thread in publishers:
        thread.join()
    dispatcher.close()
    assert [notice.attempt for notice in heard[:-1]] == list(range(1000))
    assert heard[-1].event in FINAL
    assert len(threads) == 1
