"""A benchmark from Python, through `BenchmarkApi` alone: python docs/examples/benchmark.py

The embedded model answers two tasks and judges its own answers; nothing else is needed.
"""

from __future__ import annotations

import sys
import threading
from pathlib import Path

from failproof_es.abstraction.benchmark_api import BenchmarkApi
from failproof_es.abstraction.enums import BenchmarkEvent
from failproof_es.abstraction.notices import Notice
from failproof_es.abstraction.opened import open_benchmark
from failproof_es.problems import InvalidInput

CONFIGURATION = Path(__file__).with_name("benchmark.yaml")


def run(benchmark: BenchmarkApi) -> str:
    """Choose, begin, listen until everything is judged; returns the report's path."""
    print("models:", ", ".join(benchmark.list_models()))
    over = threading.Event()
    troubles: list[str] = []

    def on_text(notice: Notice) -> None:
        print(notice.text, end="", flush=True)

    def on_progress(notice: Notice) -> None:
        if notice.result is not None:
            score = notice.result.evaluation_score
            print(f"\n{notice.task_id}: {notice.result.status.value}, score {score}")
        if notice.progress is not None and notice.progress.percent_complete == 100.0:
            over.set()

    def on_error(notice: Notice) -> None:
        troubles.append(notice.error or "")
        over.set()

    benchmark.subscribe(BenchmarkEvent.STREAMING_RESULT, on_text)
    benchmark.subscribe(BenchmarkEvent.PROGRESS_CHANGED, on_progress)
    benchmark.subscribe(BenchmarkEvent.ERROR, on_error)
    benchmark.select_models(["smollm2"])
    benchmark.select_judge_model("smollm2")
    run_id = benchmark.start_benchmark()
    over.wait()
    if troubles:
        raise SystemExit(f"run {run_id}: {troubles[0]}")
    print("progress:", benchmark.get_progress())
    return benchmark.generate_report(run_id)


if __name__ == "__main__":
    try:
        with open_benchmark(CONFIGURATION, *sys.argv[1:]) as opened:
            print("report:", run(opened.benchmark))
    except InvalidInput as problems:  # every one of them, with what to do about it
        raise SystemExit(str(problems)) from None
