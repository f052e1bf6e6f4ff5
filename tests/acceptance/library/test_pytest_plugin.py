"""`pytest --failproof` and the fixture `failproof`, as people run them: in a process of its own."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from base64 import b64encode
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import orjson
import pytest

import failproof_es
from failproof_es.store.store import Store
from tests.acceptance.commands import (
    ROOT,
    asked,
    completed,
    environment,
    invoke,
    write_configuration,
    write_suite,
)
from tests.documented import blocks

PAGE = ROOT / "docs/how-to/pytest.md"
HEAVY = {"httptools", "httpx", "psycopg", "pydantic", "numpy", "pandas", "rich", "click"}
OTHERS = ("cacheprovider", "hypothesispytest", "schemathesis", "anyio")
"""Plugins that these test runs need not load: each process would take most of a second."""
WITHOUT_OTHERS = [f"-pno:{name}" for name in OTHERS]


def pytest_of(folder: Path, store: Store, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A test run in the folder, to its end."""
    return completed([*WITHOUT_OTHERS, *arguments], environment(store.url), folder, module="pytest")


def runs_of(store: Store) -> list[tuple[int, str]]:
    """The number and the status of each run on record."""
    done = invoke(store.url, "runs", "--json", cwd=Path.cwd())
    return [(each["run_number"], each["status"]) for each in orjson.loads(done.stdout)]


def write_case(folder: Path, case: dict[str, Any]) -> None:
    """One more case for the suite."""
    with (folder / "suite.jsonl").open("ab") as suite:
        suite.write(orjson.dumps({"suite_id": "generated", **case}) + b"\n")


@pytest.mark.slow
def test_each_evaluation_is_a_test_and_a_failure_shows_what_was_asked_and_answered(
    store: Store, mock_url: str, tmp_path: Path
) -> None:
    write_suite(tmp_path, 2)
    hostile = b64encode("\x1b[2Jno‮".encode()).decode()
    for case, prompt in (("wrong", f"[answer:{hostile}]"), ("broken", "[fault:http400]")):
        write_case(tmp_path, {"case_id": case, "prompt": prompt, "expected_response": "yes"})
    write_configuration(
        tmp_path, mock_url, gates={"min_accuracy": 0.9}, execution={"repetitions": 2}
    )
    (snippet,) = (block for block in blocks(PAGE) if block.language == "python")
    (tmp_path / "test_models.py").write_text(snippet.text)
    done = pytest_of(tmp_path, store, "--failproof", "run.yaml", "-v")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "run.yaml::generated/case-00000#2[mock] PASSED" in done.stdout
    assert "collected 10 items" in done.stdout
    assert "6 failed, 4 passed" in done.stdout
    assert "test_models.py:3: GatesNotMet" in done.stdout
    assert "gate min_accuracy 0.9: measured 0.6667 over 6, NOT MET" in done.stdout
    assert f"question: [answer:{hostile}]\nanswer: \\x1b[2Jno\\u202e" in done.stdout
    assert "no score, error: " in done.stdout
    assert "bad parameter" in done.stdout
    with failproof_es.open(database_url=store.url) as run:
        assert (run.number, run.status, run.summary.total.passed) == (1, "completed", 4)
        failed = [each for each in run.results() if each.case_id == "wrong"]
    for each in failed:
        assert f"look further: failproof-es log --stream {each.evaluation_id}" in done.stdout
    assert runs_of(store) == [(1, "completed")]


@pytest.mark.slow
def test_workers_of_xdist_ask_once_and_a_test_asserts_gates(
    store: Store, mock_url: str, tmp_path: Path
) -> None:
    write_suite(tmp_path, 6, prompt="Once: {n}.")
    write_configuration(tmp_path, mock_url, gates={"min_accuracy": 1.0})
    given = orjson.loads((tmp_path / "run.yaml").read_bytes())
    given["test_run"]["name"] = "by-mapping"
    given["gates"] = {"min_accuracy_by_suite": {"generated": 1.0}}
    (tmp_path / "test_models.py").write_text(
        "import pytest\n\n"
        "@pytest.mark.parametrize('n', range(4))\n"
        "def test_gates(failproof, n):\n"
        f"    result = failproof.run({given!r})\n"
        "    assert result.summary.total.passed == 6\n"
        "    result.assert_gates()\n"
    )
    done = pytest_of(tmp_path, store, "--failproof", "run.yaml", "-n", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "11 passed" in done.stdout
    assert "run.yaml: run " in done.stdout
    assert sorted(runs_of(store)) == [(1, "completed"), (2, "completed")]
    counts = asked(mock_url)
    assert [counts[f"Once: number {n}."] for n in range(6)] == [2] * 6


@pytest.mark.slow
@pytest.mark.wide
def test_each_test_is_of_the_evaluation_that_it_names(
    store: Store, mock_url: str, tmp_path: Path
) -> None:
    write_suite(tmp_path, 2)
    good = {"provider": "openai", "base_url": mock_url, "model": "mock", "key": "good"}
    bad = {**good, "key": "bad", "prompt_template": {"user": "[fault:http400] {prompt}"}}
    execution = {"repetitions": 2, "retry_attempts": 0}
    gates = {"max_unscored_rate": 1}
    write_configuration(tmp_path, mock_url, models=[good, bad], execution=execution, gates=gates)
    done = pytest_of(tmp_path, store, "--failproof", "run.yaml", "-n", "2")
    failed = [line.split()[1] for line in done.stdout.splitlines() if line.startswith("FAILED")]
    assert sorted(failed) == [
        f"run.yaml::generated/case-0000{n}{nth}[bad]" for n in range(2) for nth in ("#2", "")
    ], done.stdout
    assert "4 failed, 5 passed" in done.stdout


@pytest.mark.slow
def test_every_problem_is_told_before_any_test_runs_and_nothing_is_asked(
    store: Store, mock_url: str, tmp_path: Path
) -> None:
    write_suite(tmp_path, 1)
    write_case(tmp_path, {"case_id": "case-00000", "prompt": 4})
    write_configuration(tmp_path, mock_url)
    (tmp_path / "test_other.py").write_text("def test_it():\n    raise SystemError\n")
    arguments = ["--failproof", "run.yaml", "--failproof", "none.yaml", "--failproof-resume", "7"]
    done = pytest_of(tmp_path, store, *arguments, "-n", "2")
    assert done.returncode == 4, done.stdout
    assert "suite.jsonl:2: prompt" in done.stderr
    assert re.search(r"none\.yaml: .*\[file-not-found\]", done.stderr)
    assert re.search(r"'7'.*\[unknown-run\]", done.stderr)
    assert "SystemError" not in done.stdout
    assert runs_of(store) == []


INTERRUPTING = """
import os, signal, time
from pathlib import Path

was_interrupted = []  # in this process

class Model:
    def __init__(self, *args, **kwargs):
        pass

    def get_completion(self, prompt, params):
        with open("asked", "a") as asked:
            asked.write(prompt + "\\n")
        if prompt == "Say number 2." and not Path("interrupted").exists():
            Path("interrupted").touch()
            was_interrupted.append(prompt)
            os.kill(os.getpid(), signal.SIGINT)
        if was_interrupted:
            time.sleep(1)
        return prompt
"""
"""A model that interrupts the program in its third answer, once, and gives it the time to stop."""


@pytest.mark.slow
@pytest.mark.wide
def test_an_interrupted_run_is_resumed_and_asks_nothing_twice(store: Store, tmp_path: Path) -> None:
    write_suite(tmp_path, 6)
    (tmp_path / "interrupting.py").write_text(INTERRUPTING)
    model = {"provider": "python", "class": "interrupting:Model", "model": "own"}
    write_configuration(tmp_path, "", models=[model], execution={"parallel_workers": 1})
    done = pytest_of(tmp_path, store, "--failproof", "run.yaml")
    assert done.returncode == 2, done.stdout + done.stderr
    assert "`pytest --failproof-resume 1`" in done.stdout
    assert runs_of(store) == [(1, "paused")]
    done = pytest_of(tmp_path, store, "--failproof-resume", "1", "-k", "case-00005")
    assert "1 passed, 6 deselected" in done.stdout, done.stdout
    assert runs_of(store) == [(1, "completed")]
    prompts = (tmp_path / "asked").read_text().splitlines()
    assert sorted(prompts) == [f"Say number {n}." for n in range(6)]


def test_a_run_whose_worker_died_is_resumed_by_the_next(
    store: Store, mock_url: str, tmp_path: Path
) -> None:
    from failproof_es.library.evaluating import go_on
    from failproof_es.testing.pytest_plugin.shared_runs import SharedRun, SharedRuns, key_of

    write_suite(tmp_path, 2)
    write_configuration(tmp_path, mock_url)
    done = invoke(store.url, "start", "run.yaml", "--detach", "--json", cwd=tmp_path)
    assert done.exit_code == 0, done.output
    options = {"--failproof-database-url": store.url, "--failproof-allow": []}
    config: Any = SimpleNamespace(stash=pytest.Stash(), getoption=options.__getitem__)
    runs = SharedRuns(config)
    left = SharedRun("run.yaml", run="1")
    (runs.folder / f"{key_of('key')}.json").write_bytes(orjson.dumps(left))

    def again(begun: object) -> None:
        raise AssertionError("a second run is begun")

    opened = runs.opened("run.yaml", "key", again)
    assert (opened.number, opened.status) == (1, "completed")
    runs.close()
    shutil.rmtree(runs.folder)
    assert go_on("1", database_url=store.url).status == "completed"


@pytest.mark.parametrize("workers", [[], ["-p", "xdist", "-n", "1"]])
@pytest.mark.thinned(fast=1, whole=2)
def test_a_test_run_that_uses_none_of_it_loads_none_of_it(
    workers: list[str], tmp_path: Path
) -> None:
    (tmp_path / "test_it.py").write_text("def test_it():\n    pass\n")
    (tmp_path / "conftest.py").write_text(
        "import sys\n\ndef pytest_unconfigure():\n    sys.stderr.write(' '.join(sys.modules))\n"
    )
    plugins = ["-p", "failproof_es.testing.pytest_plugin"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *WITHOUT_OTHERS, *plugins, *workers],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    modules = set(done.stderr.split())
    assert {each for each in modules if each.partition(".")[0] == "failproof_es"} == {
        "failproof_es",
        "failproof_es.testing",
        "failproof_es.testing.pytest_plugin",
    }
    assert not modules & HEAVY
