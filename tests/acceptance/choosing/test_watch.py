"""`watch`: a real process, real changes of files, and a real signal at the end."""

from __future__ import annotations

import json
import signal
import threading
from pathlib import Path
from queue import Queue
from typing import Any

import orjson
import pytest

from failproof_es.cli.watching.watched_files import changed, stamps
from failproof_es.store.store import Store
from tests.acceptance.commands import (
    begin_saying,
    invoke,
    kill_group,
    write_configuration,
    write_suite,
)

WAITS_S = 60


class Watching:
    """`watch` in a process group of its own; `until` reads what it says up to some words."""

    def __init__(self, store: Store, folder: Path, *options: str) -> None:
        self.process = begin_saying(store.url, "watch", "run.yaml", *options, cwd=folder)
        self._lines: Queue[str] = Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def until(self, words: str) -> list[str]:
        said: list[str] = []
        while not said or words not in said[-1]:
            said.append(self._lines.get(timeout=WAITS_S))
        return said

    def kill(self) -> None:
        kill_group(self.process)
        self._reader.join(WAITS_S)
        assert self.process.stdout is not None
        self.process.stdout.close()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line.decode())
        self._lines.put("(ended)")


def runs(store: Store, folder: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(invoke(store.url, "runs", "--json", cwd=folder).stdout)
    return found


def replace(file: Path, content: bytes) -> None:
    """As an editor writes: beside it, then in its place."""
    beside = file.with_suffix(".new")
    beside.write_bytes(content)
    beside.replace(file)


@pytest.mark.slow
def test_each_change_is_run_a_broken_suite_is_told_and_waited_for_and_ctrl_c_ends_it(
    store: Store, tmp_path: Path, mock_url: str
) -> None:
    suite = write_suite(tmp_path, 12)
    whole = suite.read_bytes()
    suite.write_bytes(b'{"case_id": 1}\n' + whole)
    write_configuration(tmp_path, mock_url)
    watching = Watching(store, tmp_path)
    try:
        broken = watching.until("watching 2 files")
        assert any("suite.jsonl:1" in line for line in broken), broken
        replace(suite, whole)
        mended = watching.until("watching 2 files")
        assert any("changed: " in line and "suite.jsonl" in line for line in mended)
        part = "5 of 12 cases: sample of 5, seed 0"
        assert any(f"watch-acceptance ({part}): completed" in line for line in mended), mended
        replace(suite, suite.read_bytes())
        assert any("nothing is asked again" in line for line in watching.until("watching 2 files"))
        replace(suite, whole.splitlines(keepends=True)[0])
        again = watching.until("watching 2 files")
        assert any("1 of 1 case: sample of 5" in line for line in again), again
        replace(tmp_path / "run.yaml", b"models: [")
        assert any("is not YAML" in line for line in watching.until("watching 2 files"))
        watching.process.send_signal(signal.SIGINT)
        assert "no longer watching" in watching.until("(ended)")[-2]
        assert watching.process.wait(WAITS_S) == 0
    finally:
        watching.kill()
    found = [(each["name"], each["status"]) for each in runs(store, tmp_path)]
    assert found == [("watch-acceptance", "completed")] * 2


@pytest.mark.slow
@pytest.mark.wide
def test_ctrl_c_during_a_run_pauses_that_run_and_ends(
    store: Store, tmp_path: Path, mock_url: str
) -> None:
    write_suite(tmp_path, 3, prompt="watched {n} [fault:http503]")
    execution = {"retry_attempts": 100, "retry_delay_ms": 20_000}
    write_configuration(tmp_path, mock_url, execution=execution)
    watching = Watching(store, tmp_path, "--limit", "2", "--set", "test_run.id=mine")
    try:
        while not runs(store, tmp_path):
            assert watching.process.poll() is None
        watching.process.send_signal(signal.SIGINT)
        watching.until("no longer watching")
        assert watching.process.wait(WAITS_S) == 0
    finally:
        watching.kill()
    (run,) = runs(store, tmp_path)
    assert (run["status"], run["selection"]) == ("paused", "2 of 3 cases: the first 2")


def test_a_configuration_that_is_not_there_is_an_error(store: Store, tmp_path: Path) -> None:
    done = invoke(store.url, "watch", "nothing.yaml", cwd=tmp_path)
    assert done.exit_code == 2 and "[file-not-found]" in done.stderr


@pytest.mark.parametrize("how", ["written", "replaced", "gone", "new"])
def test_a_file_has_changed_when_it_was_written_or_replaced_or_is_gone_or_new(
    tmp_path: Path, how: str
) -> None:
    file = tmp_path / "a"
    if how != "new":
        file.write_bytes(orjson.dumps({}))
    before = stamps([file])
    assert changed(before, stamps([file])) == []
    if how == "gone":
        file.unlink()
    elif how == "replaced":
        replace(file, b"[]")
    else:
        file.write_bytes(b"[] ")
    assert changed(before, stamps([file])) == [file]
