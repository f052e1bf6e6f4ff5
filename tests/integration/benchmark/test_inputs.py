"""The input of a task reaches the model and the judge; what is not sent is said once."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from failproof_es.abstraction.enums import TaskStatus
from failproof_es.abstraction.opened import open_benchmark
from failproof_es.store.store import Store
from tests.acceptance.commands import invoke
from tests.integration.benchmark.conftest import Configured, Server, task
from tests.integration.benchmark.test_benchmark_api import run_through

INPUT = "Theme: Dark\n  Push: {{answer}}\n"


def with_inputs(folder: Path) -> None:
    """Two files with a number that nobody sends, one of them with an input."""
    asked = task("with-input", "Convert this.", input_text=INPUT, difficulty=3)
    (folder / "4.yaml").write_bytes(orjson.dumps([asked]))
    (folder / "5.yaml").write_bytes(orjson.dumps([task("five", "Five?", difficulty=5)]))


def test_model_and_judge_are_asked_with_the_input_of_the_task(
    configured: Configured, store: Store, server: Server, tmp_path: Path
) -> None:
    loaded = configured()
    with_inputs(tmp_path / "tasks")
    with open_benchmark(loaded.path, store.url, follow=False) as parts:
        run_id, _ = run_through(parts)
        judged = parts.data.load_results(run_id, TaskStatus.JUDGEMENT_COMPLETED)
    assert len(judged) == 10
    whole = f"Convert this.\n\n{INPUT}"
    asked = server.asked()
    assert asked[f"alpha\n{whole}"] == asked[f"beta\n{whole}"] == 1
    assert sum(whole in message for message in asked if message.startswith("judge")) == 2


@pytest.mark.parametrize("command", ["validate", "start"])
def test_what_is_kept_and_not_sent_is_said_once(
    configured: Configured, store: Store, tmp_path: Path, command: str
) -> None:
    loaded = configured()
    with_inputs(tmp_path / "tasks")
    done = invoke(store.url, command, str(loaded.path), cwd=tmp_path)
    assert done.exit_code == 0, done.output
    said = [line for line in done.stderr.splitlines() if "kept with the stored task" in line]
    assert len(said) == 1
    assert "difficulty" in said[0] and "2 tasks" in said[0] and "4.yaml" in said[0]


def test_a_text_that_would_not_be_sent_ends_the_start_before_anything_is_asked(
    configured: Configured, store: Store, server: Server, tmp_path: Path
) -> None:
    loaded = configured()
    (tmp_path / "tasks" / "4.yaml").write_bytes(orjson.dumps([task("t", "Sum up.", passage="A.")]))
    done = invoke(store.url, "start", str(loaded.path), cwd=tmp_path)
    assert done.exit_code == 2
    assert "4.yaml:1: [0].passage: " in done.stderr and "[unknown-field]" in done.stderr
    assert "prompts.options.input_keys" in done.stderr
    assert server.order() == []
    options = {"dialect": "benchmark", "path": str(tmp_path / "tasks")}
    again = configured(prompts={**options, "options": {"input_keys": ["passage"]}})
    assert invoke(store.url, "start", str(again.path), cwd=tmp_path).exit_code == 0
    assert server.asked()["alpha\nSum up.\n\nA."] == 1
