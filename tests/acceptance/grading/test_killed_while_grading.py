"""Killed inside any grader of any dialect: the answer is on record, and is not asked again."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from failproof_es.dialects import dialect_named, shipped
from failproof_es.dialects.protocol import ReadsJudges
from failproof_es.dialects.registry import names
from failproof_es.store.reading.reader import find
from failproof_es.store.store import Store
from tests.acceptance.commands import _WARM, environment, invoke, mock_server, run

GRADERS = ("messages", "classify", "judge_messages", "read_judgement", "score")
"""What a dialect does with an answer: see `dialects/protocol.py`."""


def graders() -> Iterator[tuple[str, str]]:
    """Each grader of each dialect."""
    for name in names():
        for method in GRADERS:
            if method != "read_judgement" or isinstance(dialect_named(name), ReadsJudges):
                yield name, method


def write_run(folder: Path, name: str, url: str) -> None:
    """A run of the dialect's example, one evaluation after the other."""
    examples = Path(shipped.__file__).parent / name
    suite = next(
        file for file in sorted(examples.glob("new_suite.*"), reverse=True) if file.suffix != ".txt"
    )
    (folder / suite.name).write_bytes(suite.read_bytes())
    model = {"provider": "openai", "base_url": url}
    configuration: dict[str, Any] = {
        "test_run": {"name": "killed"},
        "models": [{**model, "model": "talker"}],
        "prompts": {"path": suite.name, "dialect": name},
        "execution": {"parallel_workers": 1},
        "selection": {"limit": 1},
    }
    if name in ("redteam", "benchmark"):
        configuration["judge"] = {**model, "model": "judge"}
    (folder / "run.yaml").write_bytes(orjson.dumps(configuration))


def topics(store: Store) -> list[str]:
    with store.connect() as connection:
        return [row.topic for row in find(connection)]


@pytest.mark.parametrize(
    ("name", "method"),
    [
        pytest.param(
            name,
            method,
            marks=()
            if (name, method) in (("failproof", "classify"), ("command", "classify"))
            else pytest.mark.slow,
        )
        for name, method in graders()
    ],
)
@pytest.mark.thinned(fast=1, whole=3)
def test_an_answer_is_on_record_before_the_grader_reads_it(
    store: Store, tmp_path: Path, name: str, method: str
) -> None:
    server = "benchmark_server" if name == "benchmark" else "judging_server"
    with mock_server(0, f"tests.servers.{server}") as url:
        write_run(tmp_path, name, url)
        killed = _WARM.begin(
            [name, method, "start", "run.yaml", "--quiet", "--allow-unlisted"],
            environment(store.url),
            tmp_path,
            module="tests.acceptance.grading.killed_in_grader",
        )
        assert killed.wait() == -signal.SIGKILL, "the grader was not reached"
        recorded = topics(store)
        answers = recorded.count("ResponseReceived")
        assert answers == recorded.count("RequestSent") > 0
        resumed = run(store.url, "resume", "latest", "--quiet", cwd=tmp_path)
        assert resumed.returncode in (0, 3), resumed.stderr
    recorded = topics(store)
    assert "AttemptOrphaned" not in recorded
    assert recorded.count("RequestSent") == recorded.count("ResponseReceived")
    assert recorded.count("Scored") + recorded.count("EvaluationAbandoned") == 1
    assert invoke(store.url, "replay", "latest", cwd=tmp_path).exit_code == 0
