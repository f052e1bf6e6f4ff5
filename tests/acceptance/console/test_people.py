"""`console --review` and `console-account` as people start them."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.acceptance.commands import PROGRAM, environment, invoke
from tests.acceptance.conftest import RecordedLog
from tests.acceptance.console.test_command import free_port
from tests.console_people import (
    COOKIE,
    HEADER,
    SECRET,
    browser,
    send_login,
    with_cookie,
    write_accounts,
)

PASSWORD = "correct horse battery"


def write_account(folder: Path, name: str, password: str = PASSWORD, *options: str) -> str:
    done = invoke(
        "", "console-account", "accounts", name, *options, cwd=folder, answers=f"{password}\n"
    )
    assert done.exit_code == 0, done.stderr
    return done.stderr


@contextlib.contextmanager
def reviewed(log: RecordedLog, port: int, *options: str, home: Path) -> Iterator[tuple[str, str]]:
    """The console with `--review`; yields its URL and its first line. SIGKILL ends it."""
    process = subprocess.Popen(
        [*PROGRAM, "console", "--port", str(port), "--review", *options],
        env=environment(log.url, FAILPROOF_ES_HOME=str(home)),
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    with process.stderr:
        said = process.stderr.readline()
        try:
            yield f"http://127.0.0.1:{port}", said
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait(30)
        assert PASSWORD not in process.stderr.read()


@pytest.mark.slow
def test_a_person_goes_on_after_the_server_was_killed_until_the_account_is_removed(
    recorded_log: RecordedLog, tmp_path: Path
) -> None:
    before, port = recorded_log.fingerprint(), free_port()
    write_account(tmp_path, "ann")
    options = ("--accounts", str(tmp_path / "accounts"))
    with reviewed(recorded_log, port, *options, home=tmp_path) as (url, said):
        assert said == f"the console is at {url}/runs (stop it with Ctrl-C)\n"
        with browser(url) as client:
            assert client.get("/runs").status_code == 303
            assert send_login(client, "ann", PASSWORD).status_code == 303
            assert client.get("/runs/1").status_code == 200
            cookie = client.cookies[COOKIE]
    with reviewed(recorded_log, port, *options, home=tmp_path) as (url, _):
        assert with_cookie(url, cookie).status_code == 200
        write_account(tmp_path, "bob")
        assert with_cookie(url, cookie).status_code == 200
        write_account(tmp_path, "ann", PASSWORD, "--remove")
        assert with_cookie(url, cookie).status_code == 303
    assert (tmp_path / "console-sessions.sqlite").stat().st_mode & 0o077 == 0
    assert recorded_log.fingerprint() == before


@pytest.mark.slow
def test_a_proxy_logs_people_in(recorded_log: RecordedLog, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text(f"{SECRET}\n")
    options = ("--login-header", HEADER, "--proxy-secret-file", str(secret))
    with reviewed(recorded_log, free_port(), *options, home=tmp_path) as (url, said):
        assert SECRET not in said
        shown = {HEADER: "ann", "X-Failproof-Proxy-Secret": SECRET}
        assert httpx.get(f"{url}/runs", headers=shown, timeout=60).status_code == 200
        assert httpx.get(f"{url}/runs", headers={HEADER: "ann"}).status_code == 401


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (("--review",), "missing-option"),
        (("--accounts", "accounts"), "missing-option"),
        (("--login-header", HEADER), "missing-option"),
        (("--review", "--login-header", HEADER), "missing-option"),
        (("--review", "--accounts", "none"), "file-unreadable"),
        (("--review", "--accounts", "open"), "insecure-path"),
        (("--review", "--accounts", "empty"), "no-account"),
        (("--review", "--login-header", HEADER, "--proxy-secret-file", "none"), "file-unreadable"),
        (("--review", "--login-header", HEADER, "--proxy-secret-file", "empty"), "invalid-token"),
        (("--review", "--accounts", "accounts", "--login-header", HEADER, "--proxy-secret-file",
          "secret"), "options-conflict"),
        (("--review", "--accounts", "accounts", "--host", "0.0.0.0"), "insecure-address"),
    ],
)  # fmt: skip
def test_a_console_that_would_not_know_its_people_does_not_listen(
    recorded_log: RecordedLog, tmp_path: Path, options: tuple[str, ...], code: str
) -> None:
    write_accounts(tmp_path / "accounts")
    write_accounts(tmp_path / "open").chmod(0o644)
    (tmp_path / "empty").touch(mode=0o600)
    (tmp_path / "secret").write_text(SECRET)
    done = invoke(
        recorded_log.url, "console", *options, cwd=tmp_path, FAILPROOF_ES_HOME=str(tmp_path)
    )
    assert (done.exit_code, f"[{code}]" in done.stderr) == (2, True), done.stderr


def test_an_account_is_written_changed_and_removed(tmp_path: Path) -> None:
    path = tmp_path / "accounts"
    assert "written to accounts" in write_account(tmp_path, "ann")
    first = path.read_text()
    assert re.fullmatch(r"ann:\$argon2id\$v=19\$m=65536,t=3,p=4\$[^:\n]+\n", first)
    assert path.stat().st_mode & 0o777 == 0o600
    write_account(tmp_path, "Zoë: of the day", "zoë zoë zoë zoë")
    assert "changed in accounts" in write_account(tmp_path, "ann", "another password")
    assert path.read_text().count("ann:") == 1 and first not in path.read_text()
    write_account(tmp_path, "ann", PASSWORD, "--remove")
    assert path.read_text().startswith("Zoë: of the day:$argon2id$")
    done = invoke("", "console-account", "accounts", "ann", "--remove", cwd=tmp_path)
    assert (done.exit_code, "[unknown-name]" in done.stderr) == (2, True)


@pytest.mark.parametrize(
    ("name", "password", "code"),
    [
        ("ann", "too short", "invalid-password"),
        ("ann", "", "invalid-password"),
        ("ann", "x" * 1025, "invalid-password"),
        ("", PASSWORD, "invalid-name"),
        ("ann\u202e", PASSWORD, "invalid-name"),
        ("ann\nbob", PASSWORD, "invalid-name"),
        ("a" * 201, PASSWORD, "invalid-name"),
    ],
)
def test_an_account_that_nobody_should_have_is_not_written(
    tmp_path: Path, name: str, password: str, code: str
) -> None:
    done = invoke("", "console-account", "accounts", name, cwd=tmp_path, answers=f"{password}\n")
    assert (done.exit_code, f"[{code}]" in done.stderr) == (2, True), done.stderr
    assert not (tmp_path / "accounts").exists()
    assert not password or password not in done.stderr


@pytest.mark.slow
def test_a_terminal_is_asked_for_the_password_twice_and_shows_neither(tmp_path: Path) -> None:
    terminal, child = pty.openpty()
    try:
        process = subprocess.Popen(
            [*PROGRAM, "console-account", str(tmp_path / "accounts"), "ann"],
            env=environment(""),
            stdin=child,
            stdout=child,
            stderr=child,
            start_new_session=True,
        )
        shown = b""
        for asked in (b"Password:", b"Repeat for confirmation:"):
            deadline = time.monotonic() + 60
            while asked not in shown:
                assert time.monotonic() < deadline and process.poll() is None, shown
                shown += os.read(terminal, 4096)
            os.write(terminal, PASSWORD.encode() + b"\n")
        assert process.wait(60) == 0
        shown += os.read(terminal, 4096)
    finally:
        os.close(child)
        os.close(terminal)
    assert PASSWORD.encode() not in shown
    assert (tmp_path / "accounts").read_text().startswith("ann:$argon2id$")
