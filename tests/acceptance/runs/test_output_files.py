"""Files are projections of the log: complete or absent, every evaluation once, same bytes."""

from __future__ import annotations

import asyncio
import random
import re
import time
from pathlib import Path
from typing import Any

import orjson
import pytest

from failproof_es.cli.rendering.partial_results import PartialResultsWriter
from failproof_es.configuration.loading import load_configuration
from failproof_es.engine.lifecycle import start
from failproof_es.store.store import Store
from projections import PROJECTIONS
from projections.runner import reached
from tests.acceptance.commands import (
    begin,
    invoke,
    kill_group,
    mock_server,
    run,
    write_configuration,
    write_suite,
)

CASES = 230
EVERY = 10
KILLS = 6
SEED = 20261121
NAME = re.compile(r"\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d_acceptance(\.checkpoint-\d{5})?\.jsonl")


def finished_run(store: Store, url: str, folder: Path, cases: int, **file: Any) -> Path:
    """The folder of a run's files, after the run has ended."""
    write_suite(folder, cases, prompt="Say {n}. " + "All of it. " * 100)
    output = {"file": {"path": "out/{timestamp}_{test_name}.jsonl", **file}}
    write_configuration(folder, url, output=output)
    done = invoke(store.url, "start", "run.yaml", "--quiet", cwd=folder)
    assert done.exit_code == 0, done.output
    return folder / "out"


def lines(file: Path) -> list[dict[str, Any]]:
    content = file.read_bytes()
    assert content.endswith(b"\n")
    return [orjson.loads(line) for line in content.splitlines()]


def visible(out: Path) -> list[Path]:
    return sorted(file for file in out.iterdir() if not file.name.startswith("."))


def check(file: Path, cases: int) -> list[str]:
    """A file that has its name is whole; returns the ids of its cases."""
    assert NAME.fullmatch(file.name), file.name
    header, *rows = lines(file)
    assert header["metadata"]["run_number"] == 1
    if "checkpoint" in header:
        assert header["checkpoint"]["evaluations"] == len(rows) == EVERY
    else:
        assert len(rows) == cases
    return [row["case_id"] for row in rows]


def test_checkpoint_files_hold_each_finished_evaluation_once(
    store: Store, mock_url: str, tmp_path: Path
) -> None:
    out = finished_run(store, mock_url, tmp_path, 35, checkpoint_every=EVERY)
    *checkpoints, results = visible(out)
    assert [file.name[-11:] for file in checkpoints] == [f"{n:05}.jsonl" for n in (1, 2, 3)]
    seen = [case for file in checkpoints for case in check(file, 35)]
    assert len(seen) == len(set(seen)) == 30
    assert sorted(check(results, 35)) == sorted({*seen, *check(results, 35)})
    assert [lines(file)[0]["checkpoint"]["finished_before"] for file in checkpoints] == [0, 10, 20]


def test_checkpoint_files_are_written_without_bringing_up_the_projections(
    store: Store, mock_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That is work for another process: it would slow down the run, and take its memory."""
    monkeypatch.chdir(tmp_path)
    write_suite(tmp_path, 12)
    output = {"file": {"path": "out/{timestamp}_{test_name}.jsonl", "checkpoint_every": EVERY}}
    write_configuration(tmp_path, mock_url, output=output)
    loaded = load_configuration(tmp_path / "run.yaml")
    out = tmp_path / "out"
    writer = PartialResultsWriter(store)
    asyncio.run(
        start(loaded, store, observe=writer.observe, stop=asyncio.Event(), say=lambda line: None)
    )
    until = time.monotonic() + 60
    with writer:  # it is woken once, by the last event
        while not out.exists() or not visible(out):
            assert time.monotonic() < until
            time.sleep(0.01)
    assert len(check(visible(out)[0], 12)) == EVERY
    with store.connect() as connection:
        assert reached(connection, PROJECTIONS) == 0


NAMES = {
    "../../etc: {a} [b] #\u202e": "etc-a-b",
    "My first test": "My-first-test",
    "Prüfung № 1/2\n": "Prüfung-1-2",
    "ü" * 200: "ü" * 75,
    "...": "unnamed",
}


@pytest.mark.thinned(whole=1)
@pytest.mark.parametrize("name", NAMES, ids=lambda name: NAMES[name][:12])
def test_any_text_is_a_name_and_a_checkpoint_is_a_place_to_resume_from(
    store: Store, mock_url: str, tmp_path: Path, name: str
) -> None:
    write_suite(tmp_path, 12)
    output = {"file": {"path": "out/{timestamp}_{test_name}.jsonl", "checkpoint_every": EVERY}}
    write_configuration(tmp_path, mock_url, test_run={"name": name}, output=output)
    assert invoke(store.url, "start", "run.yaml", "--quiet", cwd=tmp_path).exit_code == 0
    checkpoint, results = visible(tmp_path / "out")
    assert [file.name[19:] for file in (checkpoint, results)] == [
        f"_{NAMES[name]}.checkpoint-00001.jsonl", f"_{NAMES[name]}.jsonl",
    ]  # fmt: skip
    header = lines(checkpoint)[0]
    assert header["metadata"]["name"] == name
    assert header["checkpoint"]["evaluations"] == EVERY
    position = header["checkpoint"]["position"]
    done = invoke(store.url, "resume", "1", "--at", position, "--quiet", cwd=tmp_path)
    assert done.exit_code == 0, done.output
    shown = orjson.loads(invoke(store.url, "show", "2", "--json", cwd=tmp_path).stdout)
    assert (shown["name"], shown["counts"]["carried_over"]) == (name, EVERY)
    listed = invoke(store.url, "runs", cwd=tmp_path)
    assert listed.exit_code == 0 and "\u202e" not in listed.stdout


def test_no_file_is_written_where_files_are_not_enabled(
    store: Store, mock_url: str, tmp_path: Path
) -> None:
    out = finished_run(store, mock_url, tmp_path, 2, enabled=False, checkpoint_every=1)
    assert not out.exists()


def configure_one_second(folder: Path, url: str, **file: Any) -> None:
    """Every run has the same name and second."""
    write_suite(folder, 2)
    write_configuration(
        folder,
        url,
        test_run={"name": "same", "timestamp": "2026-11-21T09:10:11+01:00"},
        output={"file": {"path": "out/{timestamp}_{test_name}.jsonl", **file}},
    )


def test_a_run_of_the_same_second_and_name_does_not_take_the_others_file(
    store: Store, mock_url: str, tmp_path: Path
) -> None:
    configure_one_second(tmp_path, mock_url, checkpoint_every=2)
    for _ in range(2):
        assert invoke(store.url, "start", "run.yaml", "--quiet", cwd=tmp_path).exit_code == 0
    assert [file.name for file in visible(tmp_path / "out")] == [
        "2026-11-21_08-10-11_same.checkpoint-00001.jsonl",
        "2026-11-21_08-10-11_same.jsonl",
        "2026-11-21_08-10-11_same_run-2.checkpoint-00001.jsonl",
        "2026-11-21_08-10-11_same_run-2.jsonl",
    ]


def test_a_file_of_something_else_that_has_the_name_is_left_as_it_is(
    store: Store, mock_url: str, tmp_path: Path
) -> None:
    """Whoever planned a run chose the name of its file; who resumes it may have such a file.

    No checkpoint file is written either where none is wanted.
    """
    configure_one_second(tmp_path, mock_url, checkpoint_every=None)
    out = tmp_path / "out"
    out.mkdir()
    own = out / "2026-11-21_08-10-11_same.jsonl"
    own.write_text('{"my": "suite"}\n')
    assert invoke(store.url, "start", "run.yaml", "--quiet", cwd=tmp_path).exit_code == 0
    assert [file.name for file in visible(out)] == [own.name, f"{own.stem}_run-1.jsonl"]
    assert own.read_text() == '{"my": "suite"}\n'
    (out / f"{own.stem}_run-2.jsonl").touch()
    done = invoke(store.url, "start", "run.yaml", "--quiet", cwd=tmp_path)
    assert done.exit_code == 1 and "no results file has its name" in done.stderr
    assert (out / f"{own.stem}_run-2.jsonl").read_bytes() == b""


def test_a_name_without_a_timestamp_is_refused_before_a_run_writes_over_another(
    store: Store, mock_url: str, tmp_path: Path
) -> None:
    write_suite(tmp_path, 1)
    write_configuration(tmp_path, mock_url, output={"file": {"path": "results.jsonl"}})
    done = invoke(store.url, "start", "run.yaml", "--quiet", cwd=tmp_path)
    assert done.exit_code == 2
    assert "output.file.path: " in done.stderr and "[missing-placeholder]" in done.stderr


@pytest.mark.slow
def test_killed_while_it_writes_files_and_resumed_every_file_is_whole_and_the_same(
    store: Store, mock_url: str, tmp_path: Path
) -> None:
    out = finished_run(store, mock_url, tmp_path, CASES, checkpoint_every=EVERY)
    wanted = {file.name: file.read_bytes() for file in visible(out)}
    assert len(wanted) == CASES // EVERY + 1
    moments = random.Random(SEED)
    killed_in_the_middle = 0
    for _ in range(KILLS):
        if len(visible(out)) == len(wanted):
            for file in visible(out):
                file.unlink()
        before = set(out.iterdir())
        process = begin(store.url, "resume", "latest", "--quiet", cwd=tmp_path)
        wait_for_another_file(out, before)
        time.sleep(moments.uniform(0.0, 0.03))
        kill_group(process)
        for file in visible(out):
            check(file, CASES)
            assert file.read_bytes() == wanted[file.name]
        killed_in_the_middle += len(visible(out)) < len(wanted)
    assert killed_in_the_middle >= KILLS // 4
    done = run(store.url, "resume", "latest", "--quiet", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert {file.name: file.read_bytes() for file in out.iterdir()} == wanted


@pytest.mark.slow
@pytest.mark.wide
def test_killed_while_it_runs_and_resumed_the_checkpoints_hold_everything_once(
    store: Store, tmp_path: Path
) -> None:
    cases = 120
    write_suite(tmp_path, cases)
    output = {"file": {"path": "out/{timestamp}_{test_name}.jsonl", "checkpoint_every": EVERY}}
    out = tmp_path / "out"
    out.mkdir()
    moments = random.Random(SEED)
    with mock_server(latency_ms=30) as url:
        write_configuration(tmp_path, url, output=output, execution={"parallel_workers": 4})
        command = ("start", "run.yaml")
        for _ in range(4):
            process = begin(store.url, *command, "--quiet", cwd=tmp_path)
            wait_for_another_file(out, set(out.iterdir()))
            time.sleep(moments.uniform(0.0, 0.1))
            kill_group(process)
            command = ("resume", "latest")
        done = run(store.url, "resume", "latest", "--quiet", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    *checkpoints, results = sorted(out.iterdir())
    seen = [case for file in checkpoints for case in check(file, cases)]
    assert len(checkpoints) == cases // EVERY
    assert len(seen) == len(set(seen)) == cases
    assert set(check(results, cases)) == set(seen)


def wait_for_another_file(out: Path, before: set[Path]) -> None:
    """Until a file is there that was not, be it half-written."""
    deadline = time.monotonic() + 60
    while set(out.iterdir()) <= before:
        assert time.monotonic() < deadline, "no file was begun"
        time.sleep(0.001)
