"""A paused run that was given up is over: sealed, shown as such, and never asked again."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from failproof_es.events import RequestSent, RunGivenUp
from failproof_es.store.reading.reader import find
from failproof_es.store.store import Store
from tests.acceptance.commands import invoke, run, write_configuration, write_suite


@pytest.fixture
def paused(store: Store, tmp_path: Path, mock_url: str) -> Path:
    """The folder of run 1, which a model that is not there paused."""
    write_suite(tmp_path, 5, f"{tmp_path.name} {{n}} [fault:http404]")
    write_configuration(tmp_path, mock_url, execution={"parallel_workers": 1})
    done = invoke(store.url, "start", "run.yaml", cwd=tmp_path)
    assert done.exit_code == 1
    assert "`failproof-es give-up 1` ends this one" in done.stderr
    return tmp_path


def requests(store: Store) -> int:
    with store.connect() as connection:
        return len(list(find(connection, topics=[RequestSent.__name__])))


@pytest.mark.slow
def test_a_run_that_was_given_up_is_sealed_and_is_never_asked_again(
    store: Store, paused: Path
) -> None:
    before = requests(store)
    thrown = invoke(store.url, "audit", "1", "--only", "thrown-away", cwd=paused).stdout
    assert "5 of 5 planned evaluations did not end (the run is paused)" in " ".join(thrown.split())
    done = invoke(store.url, "give-up", "1", "--reason", "no such model", "--json", cwd=paused)
    assert done.exit_code == 0, done.output
    assert orjson.loads(done.stdout)["status"] == "given_up"
    with store.connect() as connection:
        (event,) = [row.event() for row in find(connection, topics=[RunGivenUp.__name__])]
    assert isinstance(event, RunGivenUp)
    assert (event.reason, event.counts.finished, event.counts.planned) == ("no such model", 0, 5)

    status = invoke(store.url, "projections", "status", "--json", cwd=paused).stdout
    assert {row["behind"] for row in orjson.loads(status)} == {0}
    verified = orjson.loads(invoke(store.url, "verify", "--json", cwd=paused).stdout)
    assert verified["not_anchored_outside"] == 0

    resumed = invoke(store.url, "resume", "1", "--quiet", cwd=paused)
    assert "resume it with" not in resumed.stderr
    again = invoke(store.url, "give-up", "1", cwd=paused)
    assert (again.exit_code, "has ended already: given_up" in again.stderr) == (2, True)
    worker = run(store.url, "worker", "--run", "1", "--drain", cwd=paused)
    assert "it has ended, nothing was sent" in worker.stderr
    assert requests(store) == before

    unscored = invoke(store.url, "results", "1", "--unscored", cwd=paused).stderr
    assert "5 of 5 planned evaluations did not end (the run is given up)" in unscored
    assert "4 never asked" in unscored and "1 asked, no answer on record" in unscored
    assert " #1: never asked" in unscored
    for options in (("--unscored", "--json"), ("--json",)):
        assert "4 never asked" in invoke(store.url, "results", "1", *options, cwd=paused).stderr
    assert "(never asked)" in invoke(store.url, "results", "1", cwd=paused).stdout
    (listed,) = orjson.loads(invoke(store.url, "runs", "--unscored", "--json", cwd=paused).stdout)
    assert (listed["unfinished"], listed["unscored"]) == (5, 0)
    thrown = invoke(store.url, "audit", "--only", "thrown-away", cwd=paused).stdout
    assert "no such model; 0 of 5 evaluations finished" in " ".join(thrown.split())

    for words in (("runs", "--json"), ("show", "1", "--json")):
        assert "given_up" in invoke(store.url, *words, cwd=paused).stdout
    assert invoke(store.url, "verify", "1", cwd=paused).exit_code == 0
    evidence = invoke(store.url, "evidence", "export", "1", "-o", "one.evidence", cwd=paused)
    assert evidence.exit_code == 0, evidence.output
    assert "RunGivenUp" in invoke(store.url, "audit", "1", "--json", cwd=paused).stdout
    branched = invoke(store.url, "resume", "1", "--again", "errors", "--quiet", cwd=paused)
    assert "Traceback" not in branched.output


def test_a_run_that_waits_for_workers_can_be_given_up_and_no_worker_takes_it(
    store: Store, tmp_path: Path, mock_url: str
) -> None:
    write_suite(tmp_path, 5)
    write_configuration(tmp_path, mock_url)
    assert invoke(store.url, "start", "run.yaml", "--detach", cwd=tmp_path).exit_code == 0
    assert invoke(store.url, "give-up", "latest", cwd=tmp_path).exit_code == 0
    done = run(store.url, "worker", "--drain", cwd=tmp_path)
    assert (done.returncode, requests(store)) == (0, 0), done.stderr
    again = invoke(store.url, "resume", "1", "--detach", cwd=tmp_path)
    assert "nothing was sent" in again.stderr


def test_a_run_that_has_ended_cannot_be_given_up(
    store: Store, tmp_path: Path, mock_url: str
) -> None:
    write_suite(tmp_path, 1)
    write_configuration(tmp_path, mock_url)
    assert invoke(store.url, "start", "run.yaml", "--quiet", cwd=tmp_path).exit_code == 0
    done = invoke(store.url, "give-up", "1", cwd=tmp_path)
    assert (done.exit_code, "has ended already: completed" in done.stderr) == (2, True)
