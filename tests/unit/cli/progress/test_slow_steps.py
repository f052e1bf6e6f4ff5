"""What takes longer than two seconds after the last answer says what it does."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import orjson
import pytest

from failproof_es.cli.progress import display, steps
from failproof_es.cli.progress.display import LineProgress, plain_line
from failproof_es.cli.progress.json_lines import json_line
from failproof_es.cli.progress.state import ProgressState
from tests.unit.cli.samples import scored, started


def finished_run() -> ProgressState:
    state = ProgressState()
    state.observe(started("a", planned=1))
    assert state.phase == "evaluating"
    state.observe(scored(1, 1))
    return state


@pytest.mark.parametrize("line", [plain_line, json_line])
def test_reading_the_record_after_the_last_evaluation_has_a_line_of_its_own(
    line: Callable[[ProgressState], str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(display, "SAMPLE_EVERY_S", 0.001)
    looked = threading.Semaphore(0)

    def counted(state: ProgressState) -> str:
        looked.release()
        return line(state)

    state = ProgressState()
    state.observe(started("a", planned=1))
    with LineProgress(state, counted, every_s=1_000.0):
        for _ in range(3):
            looked.acquire()
        state.observe(scored(1, 1))
        while looked.acquire(blocking=False):
            pass  # a busy machine looked more often before
        for _ in range(5):
            looked.acquire()
        told = capsys.readouterr().err.splitlines()
    assert len(told) == 1, "once, and long before the next line is due"
    if line is json_line:
        assert orjson.loads(told[0])["details"]["phase"] == "validating"
    else:
        assert "validating the record, 1 of 1 (100 %)" in told[0]


def test_the_phase_is_that_of_the_run_itself_once_it_says_so() -> None:
    assert finished_run().phase == "validating"
    assert ProgressState().phase == "planning"


def test_a_step_is_told_only_where_it_is_slow(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with steps.slow_step("counting"):
        pass
    monkeypatch.setattr(steps, "SLOW_AFTER_S", 0.01)
    with steps.slow_step("resting", quiet=True):
        time.sleep(0.1)
    assert capsys.readouterr().err == ""
    with steps.slow_step("reading"):
        deadline = time.monotonic() + 30
        said = ""
        while not said and time.monotonic() < deadline:
            time.sleep(0.01)
            said = capsys.readouterr().err
    assert said == "reading ...\n"


def test_steps_say_where_they_are_and_the_same_not_each_time(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    progress, waits = steps.StepProgress(), iter([False] * 5 + [True])
    monkeypatch.setattr(progress._closed, "wait", lambda seconds: next(waits))
    progress("reading run 1", 1_200, 5_000)
    progress._say_steps()
    assert capsys.readouterr().err == "reading run 1: 1,200 of 5,000 ...\n" * 2
    with steps.StepProgress():
        pass
    assert capsys.readouterr().err == ""
