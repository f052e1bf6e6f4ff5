"""The package in `docs/examples/plugin`: installed, used to the end, missed where it is gone."""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import orjson
import pytest

from failproof_es.store.store import Store
from tests.acceptance.commands import environment, invoke, kill_group
from tests.example_plugin import (
    EXAMPLE,
    KEY,
    NAME,
    Environment,
    configuration,
    made,
    questions,
    version,
)

QUESTIONS = 30
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    return made(tmp_path_factory.mktemp("with-plugin"))


def events(store: Store, topic: str) -> list[dict[str, Any]]:
    with store.connect() as connection:
        rows = connection.execute(
            "SELECT state FROM failproof.stored_events WHERE topic = %s ORDER BY notification_id",
            (topic,),
        ).fetchall()
    return [orjson.loads(row[0]) for row in rows]


def choices(store: Store) -> list[tuple[Any, ...]]:
    with store.connect() as connection:
        rows = connection.execute(
            "SELECT run_id::text, model_key, choice, times FROM projections.quiz_choices "
            "ORDER BY 1, 2, 3"
        ).fetchall()
    return [tuple(row) for row in rows]


@pytest.mark.wide
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
    assert " passed" in done.stdout


def killed_in_the_middle(store: Store, folder: Path, installed: Environment) -> None:
    """Start the run and kill its process once some of it is on record."""
    process = subprocess.Popen(
        installed.program("start", "run.yaml", "--quiet"),
        env=environment(store.url, PUPIL_KEY=KEY),
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    deadline = time.monotonic() + 60
    while len(events(store, "Scored")) < 5:
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.02)
    kill_group(process)
    assert 5 <= len(events(store, "Scored")) < 2 * QUESTIONS


@pytest.mark.wide
def test_it_is_used_from_validate_to_the_evidence_and_missed_where_it_is_needed(
    store: Store, tmp_path: Path, installed: Environment
) -> None:
    def ok(*arguments: str) -> str:
        done = installed.run(store.url, *arguments, cwd=tmp_path)
        assert done.returncode == 0, (arguments, done.stdout, done.stderr)
        return done.stdout

    def ok_without(*arguments: str) -> str:
        """In this process, where the example is not installed."""
        done = invoke(store.url, *arguments, cwd=tmp_path, PUPIL_KEY=KEY)
        assert done.exit_code == 0, (arguments, done.output)
        return done.stdout

    def refused(*arguments: str) -> str:
        done = invoke(store.url, *arguments, cwd=tmp_path, PUPIL_KEY=KEY)
        assert done.exit_code == 2, (arguments, done.output)
        return done.stderr

    (tmp_path / "questions.jsonl").write_bytes(questions(QUESTIONS))
    with installed.school(tmp_path / "questions.jsonl", delay_ms=100) as url:
        slow = configuration(url) + "execution: {parallel_workers: 2}\n"
        (tmp_path / "run.yaml").write_text(slow)
        ok("validate", "run.yaml")
        killed_in_the_middle(store, tmp_path, installed)
        missing = refused("resume", "1")
        ok("resume", "1")

    # Whoever lacks the package is told of each name, of its group and of the package.
    for noun, name in (
        ("dialect", "quiz"),
        ("provider", "pupil"),
        ("scorer", "terseness"),
        ("gate", "min_hard_questions"),
    ):
        needed = rf"{noun} '{name}' \(.*failproof_es\.{noun}s"
        began_with = f"{NAME} {re.escape(version())}, not"
        assert re.search(rf"{needed}.*{began_with}.*\[plugin-not-installed\]", missing)

    # The record.
    (started,) = events(store, "RunStarted")
    assert started["packages"][NAME] == version()
    (resumed,) = events(store, "RunResumed")
    assert resumed["packages"][NAME] == version()
    scored = events(store, "Scored")
    assert len(scored) == 2 * QUESTIONS
    assert {event["graders"]["terseness"] for event in scored} == {"1"}
    (validated,) = events(store, "RunValidated")
    assert validated["passed"] and not validated["findings"]

    # With the package.
    assert "60 of 60 evaluations agree" in ok("replay", "1")
    status = orjson.loads(ok("projections", "status", "--format", "json"))
    assert status[-1]["name"] == "quiz_choices" and {row["behind"] for row in status} == {0}
    run_id = orjson.loads(ok("show", "1", "--format", "json"))["run_id"]
    followed = [(run_id, "ada", "B", QUESTIONS), (run_id, "bob", "A", QUESTIONS)]
    assert choices(store) == followed
    ok("projections", "rebuild")
    assert choices(store) == followed
    table = ok("results", "1")
    assert "added by scorers" in table and "terseness 0.75" in table
    results = orjson.loads(ok("results", "1", "--format", "json"))
    assert [each["passed"] for each in results] == [True, False] * QUESTIONS
    assert results[0]["scores"] == {"accuracy": 1, "terseness": 0.75}
    ok("report", "1", "--format", "json", "-o", "report.json")
    assert "mean terseness" in (tmp_path / "report.json").read_text()
    ok("report", "1", "--format", "html", "-o", "report.html")
    assert f"{NAME} {version()}" in ok("show", "1")
    ok("verify")
    ok("evidence", "export", "1", "-o", "with.evidence")
    ok("ledger", "key", "-o", "log.pub")
    ok("evidence", "verify", "with.evidence", "--key", "log.pub", "--replay")

    # Without it: what needs no code of it works, the rest says what is missing.
    dialect = "the run needs the dialect 'quiz' (entry point group failproof_es.dialects)"
    command: tuple[str, ...]
    for command in (
        ("replay", "1"),
        ("results", "1", "--format", "json"),
        ("report", "1", "--format", "json", "-o", "other.json"),
        ("resume", "1", "--retry-abandoned"),
        ("evidence", "verify", "with.evidence", "--key", "log.pub", "--replay"),
    ):
        assert dialect in refused(*command), command
    said = refused("projections", "rebuild", "quiz_choices")
    assert "there is no projection 'quiz_choices'" in said and "failproof_es.projections" in said
    said = refused("start", "run.yaml")
    assert "models[0].provider: there is no provider 'pupil'" in said
    assert "failproof_es.gates" in said
    assert ok_without("results", "1") == table
    assert f"{NAME} {version()}, not installed here" in ok_without("show", "1")
    for command in (
        ("runs",), ("log", "1"), ("audit", "1"), ("verify",), ("projections", "rebuild"),
        ("projections", "status"), ("evidence", "export", "1", "-o", "without.evidence"),
        ("evidence", "verify", "without.evidence", "--key", "log.pub"),
    ):  # fmt: skip
        ok_without(*command)
    assert choices(store) == followed, "nobody took its tables away"


@pytest.mark.wide
def test_a_package_that_was_updated_is_told_and_recorded(
    store: Store, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, installed: Environment
) -> None:
    (tmp_path / "questions.jsonl").write_bytes(questions(QUESTIONS))
    updated = made(tmp_path_factory.mktemp("updated"))
    newer = tmp_path / "newer"
    shutil.copytree(EXAMPLE, newer)
    for name, was, now in (
        ("pyproject.toml", f'version = "{version()}"', 'version = "1.1.0"'),
        ("failproof_es_quiz/dialect.py", '"no_choice"', '"undecided"'),
        ("failproof_es_quiz/dialect.py", 'VERSION = "quiz.classifier", "1"', 'VERSION = "x", "2"'),
    ):
        text = (newer / name).read_text("utf-8")
        assert was in text
        (newer / name).write_text(text.replace(was, now), "utf-8")
    updated.install(newer)
    with installed.school(tmp_path / "questions.jsonl", delay_ms=100) as url:
        slow = configuration(url) + "execution: {parallel_workers: 2}\n"
        (tmp_path / "run.yaml").write_text(slow)
        killed_in_the_middle(store, tmp_path, installed)
        resumed = updated.run(store.url, "resume", "1", cwd=tmp_path)
    assert resumed.returncode == 0, resumed.stderr
    said = f"{NAME} 1.1.0 is installed; the run began with {version()}"
    assert said in resumed.stderr
    (event,) = events(store, "RunResumed")
    assert event["packages"][NAME] == "1.1.0"
    assert {each["classifier_version"] for each in events(store, "Classified")} == {"1", "2"}
    replayed = updated.run(store.url, "replay", "1", cwd=tmp_path)
    assert replayed.returncode == 0 and said in replayed.stderr
    shown = updated.run(store.url, "show", "1", cwd=tmp_path)
    assert f"{NAME} {version()}, 1.1.0 is installed here" in shown.stdout
