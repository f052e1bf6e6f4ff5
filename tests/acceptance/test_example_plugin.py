"""The package in `docs/examples/plugin`: installed, used to the end, missed where it is gone."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from failproof_es.store.store import Store
from tests.acceptance.commands import environment, kill_group
from tests.example_plugin import (
    EXAMPLE,
    KEY,
    Environment,
    configuration,
    made,
    questions,
    without,
)

QUESTIONS = 30


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    return made(tmp_path_factory.mktemp("with-plugin"))


def events(store: Store, topic: str) -> int:
    with store.connect() as connection:
        row = connection.execute(
            "SELECT count(*) FROM failproof.stored_events WHERE topic = %s", (topic,)
        ).fetchone()
    return int(row[0]) if row else 0


def choices(store: Store) -> list[tuple[Any, ...]]:
    with store.connect() as connection:
        rows = connection.execute(
            "SELECT model_key, choice, times FROM projections.quiz_choices ORDER BY 1, 2"
        ).fetchall()
    return [tuple(row) for row in rows]


def test_its_own_tests_pass(installed: Environment) -> None:
    """Among them the contracts of dialects and providers."""
    done = subprocess.run(
        [installed.python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "error", "tests"],
        cwd=EXAMPLE,
        env={**environment(""), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "failed" not in done.stdout and " passed" in done.stdout


@pytest.mark.slow
def test_it_is_used_from_validate_to_the_evidence_and_missed_where_it_is_needed(
    store: Store, tmp_path: Path, installed: Environment
) -> None:
    said: list[str] = []

    def ok(*arguments: str, by: Environment = installed) -> str:
        done = by.run(store.url, *arguments, cwd=tmp_path)
        said.append(f"$ {arguments} -> {done.returncode}\n{done.stdout}\n{done.stderr}")
        if not os.environ.get("EXPLORE"):
            assert done.returncode == 0, said[-1]
        return done.stdout

    (tmp_path / "questions.jsonl").write_bytes(questions(QUESTIONS))
    with installed.school(tmp_path / "questions.jsonl", delay_ms=100) as url:
        slow = configuration(url) + "execution: {parallel_workers: 2}\n"
        (tmp_path / "run.yaml").write_text(slow)
        ok("validate", "run.yaml")
        process = subprocess.Popen(
            installed.program("start", "run.yaml", "--quiet"),
            env=environment(store.url, PUPIL_KEY=KEY),
            cwd=tmp_path,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        deadline = time.monotonic() + 30
        while events(store, "Scored") < 5:
            assert time.monotonic() < deadline and process.poll() is None
            time.sleep(0.02)
        kill_group(process)
        assert 5 <= events(store, "Scored") < 2 * QUESTIONS
        ok("resume", "1", by=without())
        ok("resume", "1")
    assert events(store, "Scored") == 2 * QUESTIONS
    for by in (installed, without()):
        said.append(f"==== {by}")
        for command in (
            ("replay", "1"),
            ("projections", "status"),
            ("projections", "rebuild"),
            ("projections", "rebuild", "quiz_choices"),
            ("results", "1"),
            ("results", "1", "--format", "json"),
            ("report", "1", "--format", "json", "-o", f"r{by is installed}.json"),
            ("report", "1", "--format", "html", "-o", f"r{by is installed}.html"),
            ("show", "1"),
            ("runs",),
            ("log", "1"),
            ("audit", "1"),
            ("verify",),
            ("diff", "1", "1"),
            ("evidence", "export", "1", "-o", f"{by is installed}.evidence"),
            ("evidence", "verify", f"{by is installed}.evidence", "--replay"),
            ("resume", "1", "--retry-abandoned"),
            ("start", "run.yaml"),
            ("validate", "run.yaml"),
            ("suites", "validate", "questions.jsonl"),
        ):
            ok(*command, by=by)
        said.append(str(choices(store)))
    Path("/tmp/wt/plugin.said").write_text("\n".join(line[:3000] for line in said))
