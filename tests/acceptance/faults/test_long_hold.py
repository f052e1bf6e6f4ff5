"""A server that wants nothing for a week: the run pauses, and a resume still keeps to it."""

from __future__ import annotations

import json
import signal
import time
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from failproof_es.store.reading.reader import find
from failproof_es.store.store import Store
from tests.acceptance.commands import asked, begin, invoke, write_configuration

WEEK = timedelta(days=7)
PROMPTS = ["weekly 0", "weekly 1 [fault:nextweek*1]", "weekly 2", "weekly 3"]


def recorded(store: Store, topic: str) -> list[dict[str, Any]]:
    with store.connect() as connection:
        return [row.payload() for row in find(connection, topics=[topic])]


def write_run(folder: Path, base_url: str) -> None:
    cases = [
        {"case_id": f"c{n}", "suite_id": "s", "prompt": prompt, "expected_response": "said"}
        for n, prompt in enumerate(PROMPTS)
    ]
    (folder / "suite.jsonl").write_text("".join(json.dumps(case) + "\n" for case in cases))
    write_configuration(folder, base_url, execution={"parallel_workers": 1, "retry_attempts": 3})


@pytest.mark.slow
def test_a_hold_of_a_week_pauses_the_run_and_a_resume_sends_nothing_before_it_is_over(
    store: Store, mock_url: str, tmp_path: Path
) -> None:
    write_run(tmp_path, mock_url)
    paused = invoke(store.url, "start", "run.yaml", cwd=tmp_path)
    assert paused.exit_code == 1
    assert f"run 1 paused: mock: {mock_url} asks to wait 604800 s, longer than the 900 s of" in (
        paused.stderr
    )
    sent = {prompt: asked(mock_url).get(prompt, 0) for prompt in PROMPTS}
    assert list(sent.values()) == [1, 1, 0, 0], "the others would meet the same"
    (held,) = recorded(store, "LimitChanged")
    left = datetime.fromisoformat(held["held_until"]) - datetime.fromisoformat(held["timestamp"])
    assert abs(left - WEEK) < timedelta(seconds=5)

    resumed = begin(store.url, "resume", "latest", "--json", cwd=tmp_path)
    deadline = time.monotonic() + 20
    while not recorded(store, "RunResumed") and time.monotonic() < deadline:
        time.sleep(0.1)
    time.sleep(0.5)
    resumed.send_signal(signal.SIGINT)
    _, said = resumed.communicate(timeout=20)
    assert resumed.returncode == 130
    assert {prompt: asked(mock_url).get(prompt, 0) for prompt in PROMPTS} == sent
    (progress,) = [json.loads(line) for line in said.splitlines() if line.startswith(b"{")]
    (model,) = progress["details"]["models"]
    assert datetime.fromisoformat(model["held_until"]) == datetime.fromisoformat(held["held_until"])
    assert len(recorded(store, "RequestSent")) == 2
