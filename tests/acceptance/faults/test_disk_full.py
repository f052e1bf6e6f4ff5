"""The embedded server's disk is full: said, waited for, and nothing recorded is lost."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from failproof_es.store.embedded.server import EmbeddedServer
from tests.acceptance.commands import (
    asked,
    begin,
    kill_group,
    mock_server,
    run,
    write_configuration,
    write_suite,
)

CASES = 100
Mount = Callable[[int], Path]


@pytest.fixture
def mount() -> Iterator[Mount]:
    """Mount a small file system of so many megabytes; the server in it is stopped at the end.

    Not below `tmp_path`: were this killed, later sessions could not clear that up, and fail.
    """
    folder = Path(tempfile.mkdtemp(prefix="failproof-es-small-disk-"))
    folder.chmod(0o755)

    def mounted(megabytes: int) -> Path:
        command = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(folder)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            pytest.skip(f"a small disk cannot be mounted here: {done.stderr.strip()}")
        return folder

    try:
        yield mounted
    finally:
        if folder.is_mount():
            try:
                EmbeddedServer(folder).stop()
            finally:
                subprocess.run(["umount", "--lazy", str(folder)], check=True)
        folder.rmdir()


def fill(folder: Path) -> Path:
    """Take all that is left."""
    ballast = folder / "ballast"
    with ballast.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"\0" * 65536)
        except OSError:
            return ballast


def test_a_disk_too_small_for_a_server_is_told(mount: Mount, tmp_path: Path) -> None:
    home = mount(8)
    done = run("", "runs", cwd=tmp_path, FAILPROOF_ES_HOME=str(home))
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith(f"error: the embedded PostgreSQL in {home} cannot be used; ")
    assert "MB are free there" in done.stderr
    assert "No space left on device" in done.stderr
    assert "[database-unusable]" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("killed", [False, True])
@pytest.mark.slow
@pytest.mark.thinned(whole=1)
def test_a_disk_that_fills_up_under_a_run_costs_nothing_that_was_recorded(
    killed: bool, mount: Mount, tmp_path: Path
) -> None:
    """The run waits for room and goes on; killed meanwhile, it goes on when it is resumed."""
    home = mount(120)
    more = {"FAILPROOF_ES_HOME": str(home)}
    server = EmbeddedServer(home)
    server.ensure_running()
    with mock_server(latency_ms=50) as url:
        write_suite(tmp_path, CASES, prompt="Say {n}. " + os.urandom(10_000).hex())
        write_configuration(tmp_path, url, execution={"parallel_workers": 4, "retry_delay_ms": 10})
        process = begin("", "start", "run.yaml", "--quiet", cwd=tmp_path, **more)
        deadline = time.monotonic() + 30
        while sum(asked(url).values()) < 20:
            assert time.monotonic() < deadline, "the run did not start"
            time.sleep(0.05)
        ballast = fill(home)
        before = -1
        while (now := sum(asked(url).values())) != before:
            before = now
            time.sleep(1.0)
        assert before < CASES, "what cannot be recorded is not sent"
        assert process.poll() is None, "the run waits for room"
        if killed:
            kill_group(process)
        ballast.unlink()
        if killed:
            process = begin("", "resume", "latest", "--quiet", cwd=tmp_path, **more)
        _, said = process.communicate(timeout=60)
        assert process.returncode == 0, said.decode()
        counts = asked(url)
    with psycopg.connect(server.ensure_running()) as connection:
        recorded: dict[str, int] = dict(
            connection.execute(
                "SELECT topic, count(*) FROM failproof.stored_events GROUP BY 1"
            ).fetchall()
        )
        answered_again = connection.execute(
            "SELECT count(*) FROM failproof.event_log answer JOIN failproof.event_log request "
            "USING (stream_id) WHERE answer.event_type = 'ResponseReceived' "
            "AND request.event_type = 'RequestSent' "
            "AND request.stream_version > answer.stream_version"
        ).fetchone()
    assert recorded["Scored"] == CASES
    assert recorded["RequestSent"] == CASES + recorded.get("AttemptOrphaned", 0)
    assert len(counts) == CASES
    assert sum(counts.values()) <= recorded["RequestSent"]
    assert answered_again == (0,)
