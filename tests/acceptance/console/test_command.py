"""`failproof-es console` as a person starts it, and what it refuses before it listens."""

from __future__ import annotations

import contextlib
import re
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.acceptance.commands import PROGRAM, environment, invoke
from tests.acceptance.conftest import RecordedLog

TOKEN = "a-token-of-32-characters-0123456"


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


@contextlib.contextmanager
def served(log: RecordedLog, *arguments: str, **more: str) -> Iterator[tuple[str, str]]:
    """The program serving; yields its base URL and the line that it said. It ends by Ctrl-C."""
    port = free_port()
    process = subprocess.Popen(
        [*PROGRAM, "console", "--port", str(port), *arguments],
        env=environment(log.url, **more),
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    with process.stderr:
        said = process.stderr.readline()
        try:
            yield f"http://127.0.0.1:{port}", said
        finally:
            process.send_signal(signal.SIGINT)
            assert process.wait(30) == 0
        assert "Traceback" not in process.stderr.read()


@pytest.mark.slow
def test_it_says_where_it_is_opens_the_named_browser_ends_by_ctrl_c_and_adds_no_event(
    recorded_log: RecordedLog, tmp_path: Path
) -> None:
    browser, opened = tmp_path / "browser", tmp_path / "opened"
    browser.write_text(
        f'#!/bin/sh\nprintf "%s\\n" "$1" > {opened}.new && mv {opened}.new {opened}\n'
    )
    browser.chmod(0o755)
    before = recorded_log.fingerprint()
    with served(recorded_log, "--open", BROWSER=str(browser)) as (url, said):
        begins, token, ends = re.split(r"\?token=([\w-]{32}) ", said)
        assert begins + ends == f"the console is at {url}/runs(stop it with Ctrl-C)\n"
        shown = {"Authorization": f"Bearer {token}"}
        page = httpx.get(f"{url}/runs/1.json", headers=shown, timeout=60).json()
        assert page["name"] == "acceptance"
        assert httpx.get(f"{url}/runs", headers=shown, timeout=60).status_code == 200
        deadline = time.monotonic() + 30
        while not opened.exists():
            assert time.monotonic() < deadline
            time.sleep(0.05)
        ticket = opened.read_text().strip()
        assert ticket.startswith(f"{url}/runs?token=") and token not in ticket
        assert [httpx.get(ticket, timeout=60).status_code for _ in range(2)] == [303, 401]
    assert recorded_log.fingerprint() == before


@pytest.mark.parametrize("from_file", [True, False])
@pytest.mark.slow
@pytest.mark.thinned(whole=1)
@pytest.mark.wide
def test_a_token_is_read_from_a_file_or_the_environment(
    recorded_log: RecordedLog, tmp_path: Path, from_file: bool
) -> None:
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    arguments = ("--token-file", str(tmp_path / "token")) if from_file else ()
    more = {} if from_file else {"FAILPROOF_ES_CONSOLE_TOKEN": TOKEN}
    with served(recorded_log, *arguments, **more) as (url, said):
        assert TOKEN not in said
        assert httpx.get(f"{url}/runs", timeout=60).status_code == 401
        opened = httpx.get(f"{url}/runs", timeout=60, headers={"Authorization": f"Bearer {TOKEN}"})
        assert opened.status_code == 200


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--host", "0.0.0.0"), "[insecure-address]"),
        (("--host", "0.0.0.0", "--token-file", "token"), "--trusted-host"),
        (("--token-file", "none"), "[file-unreadable]"),
        (("--token-file", "."), "[file-unreadable]"),
        (("--token-file", "short"), "[invalid-token]"),
        (("--trusted-host", "a/b"), "[invalid-host]"),
        (
            ("--host", "256.1.1.1", "--token-file", "token", "--trusted-host", "a"),
            "[cannot-listen]",
        ),
        (("--port", "0"), "[invalid-option]"),
    ],
)
def test_what_is_wrong_is_told_before_it_listens(
    recorded_log: RecordedLog, tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    (tmp_path / "token").write_text(TOKEN)
    (tmp_path / "short").write_text("short")
    done = invoke(recorded_log.url, "console", *arguments, cwd=tmp_path)
    assert done.exit_code == 2
    assert said in done.stderr


def test_a_port_that_is_in_use_is_told(recorded_log: RecordedLog, tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        done = invoke(recorded_log.url, "console", "--port", port, cwd=tmp_path)
    assert done.exit_code == 2
    assert f"cannot listen on 127.0.0.1 port {port}" in done.stderr
