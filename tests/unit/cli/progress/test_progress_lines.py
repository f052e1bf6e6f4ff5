"""Where stderr is no terminal, progress is a line every ten seconds and one at the end."""

from __future__ import annotations

import threading
from decimal import Decimal
from itertools import count
from types import SimpleNamespace

import orjson
import pytest

from failproof_es.cli.progress import display as progress
from failproof_es.cli.progress.display import LineProgress, progress_for
from failproof_es.cli.progress.state import ProgressState
from failproof_es.cli.progress.text import heading
from failproof_es.core.spend import usd_text
from failproof_es.events import SpendCeilingChanged
from tests.unit.cli.samples import answered, priced, sent, started

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
        assert line.startswith("run 3 smoke: 0 of 4 (0 %), 0:00 elapsed; 0 passed")


def test_who_wants_no_progress_gets_none(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_for(a_run(), quiet=True, as_json=True):
        pass
    assert capsys.readouterr().err == ""


def test_what_was_spent_stands_beside_the_ceiling(capsys: pytest.CaptureFixture[str]) -> None:
    state, manifest = ProgressState(), started("a", planned=4)
    state.observe(
        manifest.model_copy(update={"configuration": {"execution": {"max_spend_usd": 0.5}}})
    )
    state.observe(priced("a"))
    state.observe(sent(1))
    state.observe(answered(1))
    spent = usd_text(state.total.spent.known_usd)
    assert f"spent {spent} of $0.50" in heading(state)
    state.observe(
        SpendCeilingChanged(
            originator_id=manifest.originator_id, originator_version=9, run_id=manifest.run_id,
            timestamp=manifest.timestamp, max_spend_usd=Decimal("1.25"), who="w", where="h",
        )
    )  # fmt: skip
    assert f"spent {spent} of $1.25" in heading(state)
    with progress_for(state, quiet=False, as_json=True):
        pass
    assert orjson.loads(capsys.readouterr().err)["details"]["max_spend_usd"] == 1.25
