"""A benchmark from Python as people use it: the example of the documentation, and crashes."""

from __future__ import annotations

import os
import random
import runpy
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from textwrap import dedent

import httpx
import orjson
import pytest

from failproof_es.abstraction.enums import TaskStatus
from failproof_es.abstraction.opened import open_benchmark
from failproof_es.cli.rendering.result_rows import result_rows
from failproof_es.engine.replays.replay import replay
from failproof_es.models.providers.local.weights import SMOLLM2, location
from failproof_es.reading.recorded_run import RecordedRun
from failproof_es.store.reading.reader import RecordedEvent, find, resolve_run
from failproof_es.store.store import Store
from tests.acceptance.commands import mock_server, within

EXAMPLE = Path(__file__).parents[3] / "docs" / "examples" / "benchmark.py"
TASKS = 4

DRIVE = dedent("""\
    import sys, threading
    from failproof_es.abstraction.enums import BenchmarkEvent
    from failproof_es.abstraction.opened import open_benchmark

    configuration, url, run = sys.argv[1:]
    over = threading.Event()

    def hear(notice):
        if notice.error or (notice.progress and notice.progress.percent_complete == 100.0):
            over.set()

    with open_benchmark(configuration, url, follow=False) as parts:
        benchmark = parts.benchmark
        benchmark.subscribe(BenchmarkEvent.PROGRESS_CHANGED, hear)
        benchmark.subscribe(BenchmarkEvent.ERROR, hear)
        if run == "new":
            benchmark.select_models(["alpha", "beta"])
            benchmark.select_judge_model("judge")
            print("run", benchmark.start_benchmark(), flush=True)
        else:
            benchmark.resume_benchmark(int(run))
        over.wait()
        print("over", flush=True)
    """)


EMBEDDED = pytest.param(
    "embedded",
    marks=[
        pytest.mark.wide,
        pytest.mark.skipif(location(SMOLLM2) is None, reason="the embedded model is not installed"),
    ],
)


@pytest.mark.slow
@pytest.mark.parametrize("model", ["over HTTP", EMBEDDED])
def test_the_example_of_the_documentation_runs(
    store: Store,
    tmp_path: Path,
    model: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    example = Path(shutil.copytree(EXAMPLE.parent, tmp_path / "examples")) / EXAMPLE.name
    configuration = example.with_suffix(".yaml")
    written = configuration.read_text().replace("max_tokens: 400", "max_tokens: 32")
    with ExitStack() as serving:
        if model == "over HTTP":
            url = serving.enter_context(mock_server(0))
            for place in ("  - ", "  "):  # of the model, of the judge
                here = f"\n{place}provider: "
                assert f"{here}local\n" in written
                pad = " " * len(place)
                there = f"{here}openai\n{pad}base_url: {url}\n"
                written = written.replace(f"{here}local\n", there)
            written = written.replace("smollm2", "mock")
            example.write_text(example.read_text().replace("smollm2", "mock"))
        configuration.write_text(f"{written}\njudging: {{attempts: 1}}\n")
        monkeypatch.setattr(sys, "argv", [str(example), store.url])
        with within(tmp_path):
            runpy.run_path(str(example), run_name="__main__")
        runs_as_documented(
            store, tmp_path, capsys.readouterr().out, first_tokens=model == "embedded"
        )


def runs_as_documented(store: Store, tmp_path: Path, shown: str, *, first_tokens: bool) -> None:
    assert shown.startswith(("models: smollm2\n", "models: mock, "))
    assert "'percent_complete': 100.0" in shown
    report = Path(shown.splitlines()[-1].removeprefix("report: "))
    assert report.parent == tmp_path / "reports"
    assert report.stat().st_size > 1000
    with store.connect() as connection:
        run = resolve_run(connection, "1")
        rows = list(find(connection, run_id=run))
    asked = [row.payload() for row in rows if row.topic == "RequestSent"]
    answers = [row.payload() for row in rows if row.topic == "ResponseReceived"]
    assert [each["purpose"] for each in asked[:2]] == ["target"] * 2
    assert {each["purpose"] for each in asked[2:]} <= {"judge"}
    assert len([each for each in answers if each["purpose"] == "target"]) == 2
    if first_tokens:
        assert all(each["first_token_ms"] for each in answers if each["purpose"] == "target")
    assert replay(store, run).agree == 2


def write_benchmark(folder: Path, url: str) -> Path:
    """A configuration of four tasks, two models and a judge; returns its path."""
    answers = {name: f"{name} text" for name in ("most_expected", "good_answer", "pass_option")}
    tasks = [
        {
            "task_id": f"t{n}", "question": f"Question {n}?",
            "expected_answer": answers, "incorrect_direction": "wrong",
        }
        for n in range(TASKS)
    ]  # fmt: skip
    (folder / "tasks.yaml").write_bytes(orjson.dumps(tasks))
    model = {"provider": "openai", "base_url": url, "max_tokens": 50}
    configuration = {
        "test_run": {"name": "crashing"},
        "models": [{**model, "model": "alpha"}],
        "judge": {**model, "model": "judge"},
        "prompts": {"path": str(folder / "tasks.yaml"), "dialect": "benchmark"},
        "execution": {"parallel_workers": 2, "retry_delay_ms": 1},
    }
    path = folder / "crashing.yaml"
    path.write_bytes(orjson.dumps(configuration))
    return path


def kill_after_events(store: Store, arguments: list[str], topic: str, wanted: int) -> None:
    """Run the program, and kill -9 it as soon as so many events of that kind are on record."""
    process = subprocess.Popen([sys.executable, "-c", DRIVE, *arguments], stdout=subprocess.PIPE)
    assert process.stdout is not None
    deadline = time.monotonic() + 60
    with store.connect() as connection:
        while process.poll() is None and time.monotonic() < deadline:
            if sum(1 for _ in find(connection, topics=(topic,))) >= wanted:
                break
            time.sleep(0.05)
    time.sleep(random.uniform(0, 0.05))  # anywhere within what follows
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()


def answered_requests(rows: list[RecordedEvent]) -> Counter[str]:
    """How often each request whose answer is on record was sent, by model and message."""
    sent: Counter[str] = Counter()
    lost: Counter[str] = Counter()
    bodies: dict[tuple[object, int], str] = {}
    for row in rows:
        payload = row.payload()
        if row.topic == "RequestSent":
            body = orjson.loads(payload["body"])
            key = f"{body['model']}\n{body['messages'][-1]['content']}"
            bodies[row.stream_id, payload["attempt"]] = key
            sent[key] += 1
        elif row.topic == "AttemptOrphaned":
            lost[bodies[row.stream_id, payload["attempt"]]] += 1
    return sent - lost


@pytest.mark.parametrize(
    ("topic", "wanted"),
    [("RequestSent", 3), ("Judged", 3)],
    ids=["killed while answering", "killed while judging"],
)
@pytest.mark.slow
@pytest.mark.thinned(whole=1)
def test_a_benchmark_killed_in_either_phase_goes_on_with_exactly_what_is_pending(
    store: Store, tmp_path: Path, topic: str, wanted: int
) -> None:
    with mock_server(latency_ms=60, module="tests.servers.benchmark_server") as url:
        configuration = str(write_benchmark(tmp_path, url))
        kill_after_events(store, [configuration, store.url, "new"], topic, wanted)
        with open_benchmark(configuration, store.url, follow=False) as parts:
            pending = parts.data.load_results(1, TaskStatus.PENDING_JUDGEMENT)
            judged = parts.data.load_results(1, TaskStatus.JUDGEMENT_COMPLETED)
        assert len(judged) < 2 * TASKS
        if topic == "Judged":
            assert len(pending) + len(judged) == 2 * TASKS
        resumed = subprocess.run(
            [sys.executable, "-c", DRIVE, configuration, store.url, "1"],
            capture_output=True, text=True, timeout=120, check=True,
        )  # fmt: skip
        assert resumed.stdout == "over\n"
        asked = httpx.get(url.removesuffix("/v1") + "/asked").json()
    with store.connect() as connection:
        run = resolve_run(connection, "1")
        rows = list(find(connection, run_id=run))
        results = list(result_rows(RecordedRun.read(connection, run)))
    assert [result["run_id"] for result in results] == [1] * 2 * TASKS
    assert [result["result_id"] for result in results] == list(range(1, 2 * TASKS + 1))
    assert {result["status"] for result in results} == {"JUDGEMENT_COMPLETED"}
    finals = Counter(row.stream_id for row in rows if row.topic == "Scored")
    assert sorted(finals.values()) == [1] * 2 * TASKS
    assert set(answered_requests(rows).values()) == {1}
    recorded = sum(row.topic == "RequestSent" for row in rows)
    assert 0 <= recorded - sum(asked.values()) <= 2  # killed between the record and the socket
    assert [row.topic for row in rows if row.topic == "RunCompleted"] == ["RunCompleted"]
    assert replay(store, run).agree == 2 * TASKS
