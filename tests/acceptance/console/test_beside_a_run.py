"""`start --console`: the console beside a run, as a person and as a script meet it."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import time
import webbrowser
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from failproof_es.console.beside import process as beside
from failproof_es.store.store import Store
from failproof_es.support import extras
from tests.acceptance.commands import (
    Process,
    asked,
    begin,
    environment,
    invoke,
    mock_server,
    run,
    write_configuration,
    write_suite,
)
from tests.acceptance.console.test_command import TOKEN, free_port
from tests.acceptance.runs import test_live_progress
from tests.acceptance.runs.test_live_progress import terminal
from tests.processes import children_with

SHOWN = {"Authorization": f"Bearer {TOKEN}"}
SAID = re.compile(r"the console shows this run at (http://127\.0\.0\.1:\d+)/runs/(\d+)")


@contextlib.contextmanager
def starting(store: Store, *arguments: str, cwd: Path) -> Iterator[tuple[Process, str, int]]:
    """A run with a console beside it, without a terminal: its process, the URL, the number."""
    process = begin(
        store.url, *arguments, "--console", "--quiet", cwd=cwd, FAILPROOF_ES_CONSOLE_TOKEN=TOKEN
    )
    assert process.stderr is not None
    with process, process.stderr:
        try:
            if arguments[0] == "start":
                assert process.stderr.readline().startswith(b"cases: ")
            said = SAID.fullmatch(line := process.stderr.readline().decode().rstrip("\n"))
            assert said is not None, line
            yield process, said[1], int(said[2])
        finally:
            process.kill()


@contextlib.contextmanager
def a_long_run(folder: Path) -> Iterator[str]:
    """A configuration that takes a minute at least, and the base URL of its mock."""
    write_suite(folder, 240)
    with mock_server(latency_ms=500) as mock:
        write_configuration(folder, mock, execution={"parallel_workers": 2})
        yield mock


def page(url: str, path: str) -> Any:
    """A page as data, once what it shows is there."""
    deadline = time.monotonic() + 60
    while (answer := httpx.get(f"{url}{path}", headers=SHOWN, timeout=60)).status_code != 200:
        assert time.monotonic() < deadline, answer.text
        time.sleep(0.05)
    return answer.json()


def is_closed(url: str) -> bool:
    """Whether nobody listens there any more, after a moment."""
    port = int(url.rpartition(":")[2])
    deadline = time.monotonic() + 20
    while True:
        with socket.socket() as knocking:
            if knocking.connect_ex(("127.0.0.1", port)):
                return True
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)


def events(store: Store) -> int:
    with store.connect() as connection:
        row = connection.execute("SELECT count(*) FROM failproof.stored_events").fetchone()
    assert row is not None
    count: int = row[0]
    return count


@pytest.mark.slow
@pytest.mark.parametrize("more", [(), ("--workers", "2")])
@pytest.mark.thinned(whole=1)
def test_it_serves_the_run_and_ctrl_c_ends_both(
    store: Store, tmp_path: Path, more: tuple[str, ...]
) -> None:
    with (
        a_long_run(tmp_path),
        starting(store, "start", "run.yaml", *more, cwd=tmp_path) as (process, url, number),
    ):
        assert page(url, f"/runs/{number}.json")["status"] == "running"
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
        assert process.stderr is not None
        assert b"console" not in process.stderr.read()
        assert is_closed(url)


@pytest.mark.slow
@pytest.mark.wide
def test_a_run_that_is_resumed_is_shown_from_the_beginning(store: Store, tmp_path: Path) -> None:
    with a_long_run(tmp_path):
        with starting(store, "start", "run.yaml", cwd=tmp_path) as (process, url, _):
            while not page(url, "/runs/1.json")["counts"]["finished"]:
                time.sleep(0.05)
            process.send_signal(signal.SIGINT)
            # The first signal lets the requests in flight end, and the console serves meanwhile.
            assert process.wait(60) == 130
        assert is_closed(url)
        with starting(store, "resume", "1", cwd=tmp_path) as (process, url, number):
            assert number == 1
            assert page(url, "/runs/1.json")["counts"]["finished"]


@pytest.mark.slow
@pytest.mark.wide
def test_at_a_terminal_it_stays_open_until_ctrl_c(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        test_live_progress, "environment", partial(environment, FAILPROOF_ES_CONSOLE_TOKEN=TOKEN)
    )
    write_suite(tmp_path, 3)
    port = str(free_port())
    url = f"http://127.0.0.1:{port}"
    with mock_server(latency_ms=0) as mock:
        write_configuration(tmp_path, mock, gates={"min_accuracy": 1.0})
        arguments = ("start", "run.yaml", "--console", "--console-port", port)
        with terminal(store, *arguments, cwd=tmp_path, columns=120) as shown:
            last = f"the console stays open at {url}/runs; Ctrl-C ends it"
            lines = shown.wait_for(lambda lines: last in lines)
            assert f"the console shows this run at {url}/runs/1" in lines
            assert lines[-1] == last
            assert page(url, "/runs/1.json")["status"] == "completed"
            shown.process.send_signal(signal.SIGINT)
            assert shown.process.wait(120) == 0
    assert is_closed(url)


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.thinned(whole=1)
@pytest.mark.wide
def test_the_exit_code_is_the_run_s_however_the_console_is_ended(
    store: Store, tmp_path: Path, how: signal.Signals
) -> None:
    write_suite(tmp_path, 3, prompt="[answer:bm8=]")
    with mock_server(latency_ms=0) as mock:
        write_configuration(tmp_path, mock, gates={"min_accuracy": 1.0})
        with terminal(store, "start", "run.yaml", "--console", cwd=tmp_path, columns=120) as shown:
            shown.wait_for(lambda lines: any("stays open" in line for line in lines))
            shown.process.send_signal(how)
            assert shown.process.wait(120) == 3


@pytest.mark.slow
@pytest.mark.wide
def test_a_run_that_was_stopped_does_not_stay_for_its_console(store: Store, tmp_path: Path) -> None:
    arguments = ("start", "run.yaml", "--console")
    with (
        a_long_run(tmp_path),
        terminal(store, *arguments, cwd=tmp_path, columns=120) as shown,
    ):
        shown.wait_for(lambda lines: any("━" in line for line in lines))
        shown.process.send_signal(signal.SIGINT)
        assert shown.process.wait(60) == 130
        assert not any("stays open" in line for line in shown.lines())


@pytest.mark.slow
@pytest.mark.wide
def test_a_console_that_dies_is_told_and_the_run_goes_on(store: Store, tmp_path: Path) -> None:
    with (
        a_long_run(tmp_path) as mock,
        starting(store, "start", "run.yaml", cwd=tmp_path) as (process, url, _),
    ):
        page(url, "/runs/1.json")
        [served] = consoles_of(process.pid)
        os.kill(served, signal.SIGKILL)
        assert is_closed(url)
        before = len(asked(mock))
        while len(asked(mock)) < before + 5:
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
        assert process.stderr is not None
        assert b"the console ended by itself (exit code -9)" in process.stderr.read()


def test_a_console_that_cannot_be_started_is_told_and_the_run_goes_on(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise BlockingIOError("no process to be had")

    monkeypatch.setattr(beside, "Sidecar", refuse)
    write_suite(tmp_path, 3)
    with mock_server(latency_ms=0) as mock:
        write_configuration(tmp_path, mock)
        done = invoke(store.url, "start", "run.yaml", "--console", "--quiet", cwd=tmp_path)
    assert done.exit_code == 0
    assert "the console cannot be started: no process to be had" in done.stderr


@pytest.mark.slow
def test_a_run_that_is_killed_leaves_no_console(store: Store, tmp_path: Path) -> None:
    with (
        a_long_run(tmp_path),
        starting(store, "start", "run.yaml", cwd=tmp_path) as (process, url, _),
    ):
        page(url, "/runs/1.json")
        process.kill()
        process.wait()
        assert is_closed(url)


def consoles_of(process_id: int) -> list[int]:
    """The processes that serve a console for this one. Nothing secret is in their arguments."""
    consoles = children_with("failproof_es.console.beside", process_id)
    for console in consoles:
        with contextlib.suppress(psutil.NoSuchProcess):
            assert not any("postgresql://" in argument for argument in console.cmdline())
    return [console.pid for console in consoles]


def test_a_port_that_is_taken_is_told_before_anything_is_sent(store: Store, tmp_path: Path) -> None:
    write_suite(tmp_path, 3)
    with socket.socket() as taken, mock_server(latency_ms=0) as mock:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        write_configuration(tmp_path, mock)
        done = run(
            store.url, "start", "run.yaml", "--console", "--console-port", port, cwd=tmp_path
        )
        assert done.returncode == 2
        assert f"cannot listen on 127.0.0.1 port {port}" in done.stderr
        assert "choose another with --console-port" in done.stderr
        assert asked(mock) == {} and events(store) == 0


def test_a_missing_extra_is_told_before_anything_is_sent(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extras, "EXTRAS", {"console": extras.Extra(modules=("not_installed",))})
    write_suite(tmp_path, 3)
    with mock_server(latency_ms=0) as mock:
        write_configuration(tmp_path, mock)
        done = invoke(store.url, "start", "run.yaml", "--console", cwd=tmp_path)
        assert done.exit_code == 2
        assert "[package-not-installed]" in done.stderr
        assert "pip install 'failproof-es[console]'" in done.stderr
        assert asked(mock) == {} and events(store) == 0


@pytest.mark.parametrize(
    ("arguments", "said", "token"),
    [
        (("--console-port", "8321"), "[missing-option]", None),
        (("--console", "--detach"), "[options-conflict]", None),
        (("--console", "--console-port", "0"), "[invalid-option]", None),
        (("--console",), "[invalid-token]", "short"),
    ],
)
def test_what_cannot_be_is_told_before_anything_is_sent(
    store: Store, tmp_path: Path, arguments: tuple[str, ...], said: str, token: str | None
) -> None:
    write_suite(tmp_path, 3)
    with mock_server(latency_ms=0) as mock:
        write_configuration(tmp_path, mock)
        done = invoke(
            store.url,
            "start",
            "run.yaml",
            *arguments,
            cwd=tmp_path,
            FAILPROOF_ES_CONSOLE_TOKEN=token,
        )
        assert done.exit_code == 2
        assert said in done.stderr
        assert asked(mock) == {} and events(store) == 0


def test_the_run_s_own_process_loads_no_web_server() -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys, failproof_es.console.beside.process as _; print(*sys.modules)",
        ],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    loaded = {each.partition(".")[0] for each in done.stdout.split()}
    assert not loaded & {"fastapi", "starlette", "uvicorn", "jinja2", "pydantic"}


@pytest.mark.parametrize("where", ["a screen", "no screen", "a screen in CI", "a broken browser"])
@pytest.mark.thinned(whole=2)
def test_open_shows_the_run_in_a_browser_or_says_so_and_the_console_ends_with_the_run(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    pages: list[httpx.Response] = []
    opens = where == "a screen"

    def open_it(url: str) -> bool:
        if where == "a broken browser":
            raise webbrowser.Error("no such program")
        pages.append(httpx.get(url, timeout=60))  # the ticket in the URL lets it in, once
        httpx.post(model.removesuffix("/v1") + "/hurry")  # the run goes on until it was opened
        return True

    monkeypatch.setattr(webbrowser, "open", open_it)
    write_suite(tmp_path, 2)
    nowhere = dict.fromkeys(("CI", "SSH_CONNECTION", "BROWSER", "DISPLAY", "WAYLAND_DISPLAY"))
    there = {} if where == "no screen" else {"DISPLAY": ":9"}
    if where == "a screen in CI":
        there["CI"] = "true"
    with mock_server(latency_ms=30_000 if opens else 0) as model:
        write_configuration(tmp_path, model)
        done = invoke(
            store.url, "start", "run.yaml", "--open", cwd=tmp_path, **{**nowhere, **there},
            FAILPROOF_ES_CONSOLE_TOKEN=TOKEN,
        )  # fmt: skip
    assert done.exit_code == 0, done.output
    said = SAID.search(done.stderr)
    assert said is not None and is_closed(said[1])
    assert ("no browser opens here" in done.stderr) != opens
    assert [page.headers["location"] for page in pages] == ["/runs/1"] * opens
    assert TOKEN not in done.output
