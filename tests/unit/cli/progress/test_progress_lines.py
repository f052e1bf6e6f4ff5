"""Where stderr is no terminal, progress is a line every ten seconds and one at the end."""

from __future__ import annotations

import threading
from itertools import count
from types import SimpleNamespace

import orjson
import pytest

from failproof_es.cli.progress import display as progress
from failproof_es.cli.progress.display import LineProgress, progress_for
from failproof_es.cli.progress.state import ProgressState
from tests.unit.cli.samples import started

STEP_S = 4
"""So much later it is each time that the clock is read."""


def a_run() -> ProgressState:
    state = ProgressState()
    state.observe(started("a", planned=4))
    return state


def test_a_line_is_written_every_ten_seconds_and_at_the_end(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seconds = count(0, STEP_S)
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: next(seconds)))
    monkeypatch.setattr(progress, "SAMPLE_EVERY_S", 0.001)
    looks = count(1)
    enough = threading.Event()

    def line(state: ProgressState) -> str:
        look = next(looks)
        if look == 10:
            enough.set()
        return f"after {look * STEP_S} s"

    with LineProgress(a_run(), line):
        assert enough.wait(30)
    shown = capsys.readouterr()
    assert shown.err.splitlines()[:4] == ["after 12 s", "after 20 s", "after 32 s", "after 40 s"]
    assert shown.err.splitlines()[-1] == f"after {(next(looks) - 1) * STEP_S} s", "at the end"
    assert shown.out == ""


@pytest.mark.parametrize("as_json", [False, True])
def test_programs_get_json_on_stderr_and_people_a_plain_line(
    as_json: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    with progress_for(a_run(), quiet=False, as_json=as_json):
        pass
    shown = capsys.readouterr()
    (line,) = shown.err.splitlines()
    assert shown.out == ""
    if as_json:
        assert orjson.loads(line)["details"]["planned"] == 4
    else:
        assert "a: 0 of 4 done" in line


def test_who_wants_no_progress_gets_none(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_for(a_run(), quiet=True, as_json=True):
        pass
    assert capsys.readouterr().err == ""
