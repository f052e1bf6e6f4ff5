"""A model that is not there, or that answers under another name, costs next to nothing."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from failproof_es.events import RequestSent, RunPaused, ValidationFailed
from failproof_es.store.reading.reader import find
from failproof_es.store.store import Store
from tests.acceptance.commands import invoke, run, write_configuration, write_suite

CASES = 40


def requests(store: Store) -> int:
    with store.connect() as connection:
        return len(list(find(connection, topics=[RequestSent.__name__])))


def asking(folder: Path, url: str, model: str, prompt: str = "Say {n}.") -> None:
    write_suite(folder, CASES, prompt)
    models = [{"provider": "openai", "base_url": url, "model": model}]
    write_configuration(folder, url, models=models, execution={"parallel_workers": 2})


def test_a_model_that_the_server_does_not_list_is_refused_with_the_nearest_name(
    store: Store, tmp_path: Path, mock_url: str
) -> None:
    asking(tmp_path, mock_url, "mockk", "Say sk-" + "a1B2" * 8 + " {n}.")
    for command in ("validate", "start"):
        done = invoke(store.url, command, "run.yaml", cwd=tmp_path)
        assert done.exit_code == 2
        said = " ".join(done.stderr.split())
        assert "does not list mockk; it lists: mock, mock-b," in said
        assert "warning: " in said and "[key-exposed]" in said, "an error hides no warning"
    assert requests(store) == 0
    with store.connect() as connection:
        assert len(list(find(connection, topics=[ValidationFailed.__name__]))) == 1
    done = invoke(store.url, "validate", "run.yaml", "--allow-unlisted", cwd=tmp_path)
    assert (done.exit_code, "does not list mockk" in done.stderr) == (0, True)


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_first_answer_under_another_name_pauses_the_run_and_nothing_is_asked_after_it(
    workers: str, store: Store, tmp_path: Path, mock_url: str
) -> None:
    asking(tmp_path, mock_url, "mock", prompt=f"{tmp_path.name} {{n}} [fault:othermodel]")
    words = ("--workers", workers)
    done = run(store.url, "start", "run.yaml", *words, cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    # What was in flight: two for each process, and for each shard that a worker held.
    assert 1 <= requests(store) <= (2 if workers == "1" else CASES // 2)
    with store.connect() as connection:
        (paused,) = [row.event() for row in find(connection, topics=[RunPaused.__name__])]
    assert isinstance(paused, RunPaused)
    assert "mock was asked and mock-mini answered" in paused.reason
    if workers == "1":
        assert "after a change of the file, start a new one" in done.stderr
        assert "resume it with" not in done.stderr


def test_a_later_answer_under_another_name_is_an_error_of_its_evaluation_alone(
    store: Store, tmp_path: Path, mock_url: str
) -> None:
    """Also after the run was resumed: the answers on record show that the model is there."""
    asking(tmp_path, mock_url, "mock")
    lines = (tmp_path / "suite.jsonl").read_text().splitlines()
    halting = [line.replace("Say ", f"{tmp_path.name} [fault:http404*1] ") for line in lines[10:11]]
    other = [line.replace("Say ", f"{tmp_path.name} [fault:othermodel] ") for line in lines[11:]]
    (tmp_path / "suite.jsonl").write_text("\n".join([*lines[:10], *halting, *other]))
    never = ("--set", "execution.pause_after_lost=null")
    done = run(store.url, "start", "run.yaml", "--quiet", *never, cwd=tmp_path)
    assert (done.returncode, "paused" in done.stderr) == (1, True)
    gates = run(store.url, "resume", "1", "--quiet", "--json", cwd=tmp_path)
    counts = orjson.loads(gates.stdout.splitlines()[-1])["counts"]
    assert counts["finished"] == CASES
    assert counts["abandoned"] >= CASES - 13
