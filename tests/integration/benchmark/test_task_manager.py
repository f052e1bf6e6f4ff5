"""What submissions are heard to say: each in order, one last word, and nobody is held up."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from failproof_es.abstraction.enums import BenchmarkEvent, TaskStatus
from failproof_es.abstraction.notices import Notice
from failproof_es.abstraction.opened import BenchmarkParts, open_benchmark
from failproof_es.store.store import Store
from tests.integration.benchmark.conftest import Configured

IN_TIME_S = 30.0
STARTED, PROGRESS, STREAMING, ERROR, COMPLETED = (
    BenchmarkEvent.STARTED,
    BenchmarkEvent.PROGRESS_CHANGED,
    BenchmarkEvent.STREAMING_RESULT,
    BenchmarkEvent.ERROR,
    BenchmarkEvent.COMPLETED,
)


@pytest.fixture
def parts(configured: Configured, store: Store) -> Iterator[BenchmarkParts]:
    loaded = configured("Once upon a time", "Broken? [http:400]")
    with open_benchmark(loaded.path, store.url, follow=False) as parts:
        yield parts


def listen(parts: BenchmarkParts, submission: int) -> tuple[list[Notice], threading.Event]:
    """Everything that is said of a submission, and whether its last word was."""
    heard: list[Notice] = []
    over = threading.Event()

    def hear(notice: Notice) -> None:
        heard.append(notice)
        if notice.event in (ERROR, COMPLETED):
            over.set()

    for event in BenchmarkEvent:
        parts.tasks.subscribe(submission, event, hear)
    return heard, over


def test_a_submission_starts_streams_progresses_and_has_one_last_word(
    parts: BenchmarkParts,
) -> None:
    parts.data.judge_with("judge")
    run_id = parts.data.create_run(["alpha"])
    whole, broken = parts.data.tasks_of(run_id)
    parts.tasks._subscriptions.open(1)  # heard from its very beginning
    parts.tasks._subscriptions.open(2)
    said = [listen(parts, submission) for submission in (1, 2)]
    for submission, task in enumerate((whole, broken), 1):
        assert parts.tasks.submit_task(run_id, task, "alpha") == submission
    assert all(over.wait(IN_TIME_S) for _, over in said)
    (answered, _), (failed, _) = said
    first, *pieces, progress, last = answered
    assert (first.event, progress.event, last.event) == (STARTED, PROGRESS, COMPLETED)
    assert {notice.event for notice in pieces} == {STREAMING}
    assert last.result is not None and last.result.status is TaskStatus.PENDING_JUDGEMENT
    assert "".join(notice.text for notice in pieces) == last.result.llm_response
    assert [notice.event for notice in failed] == [STARTED, ERROR]
    assert failed[1].error and failed[1].result is not None
    assert failed[1].result.status is TaskStatus.FAILED


def test_a_callback_of_a_submission_that_blocks_does_not_hold_up_the_judging(
    parts: BenchmarkParts,
) -> None:
    release, blocked = threading.Event(), threading.Event()

    def block(notice: Notice) -> None:
        blocked.set()
        release.wait(IN_TIME_S)

    parts.tasks._subscriptions.open(1)
    parts.tasks.subscribe(1, STARTED, block)
    parts.benchmark.select_models(["alpha"])
    parts.benchmark.select_judge_model("judge")
    parts.benchmark.start_benchmark()
    try:
        deadline = time.monotonic() + 10
        while parts.benchmark.get_progress()["percent_complete"] < 100:
            assert time.monotonic() < deadline, parts.benchmark.get_progress()
            time.sleep(0.02)
        assert blocked.is_set()
    finally:
        release.set()
