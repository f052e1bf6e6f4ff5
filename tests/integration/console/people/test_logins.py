"""Logins with local accounts and the sessions that they begin, over real HTTP."""

from __future__ import annotations

import os
import sqlite3
import statistics
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from argon2 import PasswordHasher

from failproof_es.console.security.account_file import read_accounts, remove_account, write_account
from failproof_es.console.security.accounts import Accounts
from failproof_es.console.security.sessions import LONGEST_IDLE_S, LONGEST_S, Sessions
from failproof_es.problems import InvalidInput
from tests.console import settings_for
from tests.console_people import (
    COOKIE,
    PASSWORDS,
    accounts_console,
    browser,
    form_token,
    logged_in,
    send_login,
    with_cookie,
    write_accounts,
)

TOKEN = "a-token-of-32-characters-0123456"


@pytest.fixture
def people_url(console_log: str, tmp_path: Path) -> Iterator[str]:
    with accounts_console(tmp_path, **settings_for(console_log)) as url:
        yield url


@pytest.fixture(scope="module")
def shared_url(console_log: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A console whose accounts and sessions no test damages."""
    folder = tmp_path_factory.mktemp("people")
    with accounts_console(folder, token=TOKEN, **settings_for(console_log)) as url:
        yield url


# -- without a login --------------------------------------------------------------------------


@pytest.mark.parametrize("credentials", [{}, {"Authorization": f"Bearer {TOKEN}"}])
def test_nobody_reads_anything_without_a_login(
    shared_url: str, credentials: dict[str, str]
) -> None:
    for path in (
        "/", "/runs", "/runs/1", "/runs/1/results", "/compare?base=1&other=2", "/review", "/search",
        "/nothing", "/runs/1/live", "/cases", "/ledger", "/events/1",
    ):  # fmt: skip
        for method in ("GET", "HEAD"):
            found = httpx.request(method, shared_url + path, headers=credentials)
            assert found.status_code == 303, path
            assert found.headers["location"].startswith("/login")
            assert "nightly" not in found.text
    for path in ("/runs.json", "/runs.jsonl", "/runs.csv", "/runs/1.json", "/openapi.json"):
        found = httpx.get(shared_url + path, headers=credentials)
        assert (found.status_code, found.json()["code"]) == (401, "login-required")
        assert "nightly" not in found.text


def test_the_token_in_a_url_opens_nothing_where_people_log_in(shared_url: str) -> None:
    found = httpx.get(f"{shared_url}/runs?token={TOKEN}")
    assert found.status_code == 303 and "set-cookie" not in found.headers


def test_metrics_are_read_with_the_token_and_with_it_alone(shared_url: str) -> None:
    shown = httpx.get(f"{shared_url}/metrics", headers={"Authorization": f"Bearer {TOKEN}"})
    assert shown.status_code == 200 and "failproof_es_runs" in shown.text
    for wrong in ({}, {"Authorization": "Bearer x"}, {"Authorization": TOKEN}):
        assert httpx.get(f"{shared_url}/metrics", headers=wrong).status_code == 401
    with logged_in(shared_url) as client:
        assert client.get("/metrics").status_code == 401, "they are of all projects"


def test_probes_and_static_files_need_no_person(shared_url: str) -> None:
    assert httpx.get(f"{shared_url}/healthz").status_code == 200
    assert httpx.get(f"{shared_url}/static/console.css").status_code == 200


# -- the login --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PASSWORDS)
def test_a_person_logs_in_sees_the_own_name_and_logs_out(shared_url: str, name: str) -> None:
    with logged_in(shared_url, name, "127.0.1.1") as client:
        page = client.get("/runs")
        assert page.status_code == 200 and "nightly" in page.text
        assert name in page.text and "Log out" in page.text and "Read-only" not in page.text
        assert name in client.get("/nothing").text  # an error's page has the name, too
        left = client.post("/logout", data={"form_token": form_token(page)})
        assert (left.status_code, left.headers["location"]) == (303, "/login")
        assert client.get("/runs").status_code == 303


def test_the_same_password_in_another_form_of_unicode_is_right(shared_url: str) -> None:
    with browser(shared_url, "127.0.1.1") as client:
        assert send_login(client, "Zoë", "zöe zoe zoe").status_code == 303


def test_the_page_that_was_asked_for_follows_the_login_and_no_other_place(shared_url: str) -> None:
    for asked, follows in (
        ("/runs/1/results?class=refused&limit=5", "/runs/1/results?class=refused&limit=5"),
        ("//evil.example/", "/runs"),
        ("///evil.example/", "/runs"),
        ("https://evil.example/", "/runs"),
        ("/\\evil.example", "/runs"),
        ("/%09/evil.example", "/%09/evil.example"),
        ("/\t/evil.example", "/runs"),
        ("javascript:alert(1)", "/runs"),
        ("runs", "/runs"),
        ("/" + "a" * 3000, "/runs"),
    ):
        with browser(shared_url, "127.0.1.2") as client:
            sent = send_login(client, "ann", PASSWORDS["ann"], next=asked)
            assert sent.headers["location"] == follows, asked
    with browser(shared_url) as client:
        moved = client.get("/runs?status=failed")
        assert moved.headers["location"] == "/login?next=%2Fruns%3Fstatus%3Dfailed"
        assert 'name="next" value="/runs?status=failed"' in client.get(
            moved.headers["location"]
        ).text  # fmt: skip


@pytest.mark.parametrize(
    ("name", "password"),
    [
        ("ann", "wrong password"), ("ann", ""), ("ann", PASSWORDS["ann"] + " "),
        ("ann", PASSWORDS["bob"]), ("Ann", PASSWORDS["ann"]), ("nobody", PASSWORDS["ann"]),
        ("", PASSWORDS["ann"]), ("ann\x00", PASSWORDS["ann"]), ("ann\nbob", PASSWORDS["ann"]),
        ("ann\u202e", PASSWORDS["ann"]), ("a" * 300, "a guess"), ("ann", "x" * 60_000),
    ],
)  # fmt: skip
def test_a_wrong_name_and_a_wrong_password_get_the_same_answer(
    shared_url: str, name: str, password: str, request: pytest.FixtureRequest
) -> None:
    own_address = f"127.0.2.{abs(hash(request.node.name)) % 200 + 1}"
    with browser(shared_url, own_address) as client:
        sent = send_login(client, name, password)
        assert sent.status_code == 403
        assert "do not belong together" in sent.text and "nightly" not in sent.text
        assert COOKIE not in sent.headers.get("set-cookie", "")
        assert not password or password not in sent.text
        with logged_in(shared_url, "ann", own_address):
            pass  # forgets the attempts


def test_an_unknown_name_takes_the_processor_as_long_as_a_wrong_password(tmp_path: Path) -> None:
    hasher = PasswordHasher(time_cost=3, memory_cost=16_384, parallelism=1)
    path = tmp_path / "accounts"
    path.touch(mode=0o600)
    path.write_text(f"ann:{hasher.hash(PASSWORDS['ann'])}\n")
    accounts = Accounts(path)

    def seconds(name: str) -> float:
        begun = time.thread_time()
        assert accounts.check(name, "wrong password") is None
        return time.thread_time() - begun

    pairs = [(seconds("ann"), seconds("nobody")) for _ in range(9)]
    known, unknown = (statistics.median(times) for times in zip(*pairs, strict=True))
    assert 0.6 < unknown / known < 1.6, (known, unknown)


# -- sessions ---------------------------------------------------------------------------------


def test_the_cookie_of_a_session_is_out_of_reach_of_scripts_and_of_other_sites(
    shared_url: str,
) -> None:
    with browser(shared_url, "127.0.1.3") as client:
        [cookie] = [
            header
            for header in send_login(client, "ann", PASSWORDS["ann"]).headers.get_list("set-cookie")
            if header.startswith(f"{COOKIE}=")
        ]
    parts = {part.strip().lower() for part in cookie.split(";")[1:]}
    assert parts == {"httponly", "samesite=strict", "path=/"}


def test_beyond_this_machine_cookies_are_of_this_host_and_of_tls_alone(
    console_log: str, tmp_path: Path
) -> None:
    named = {"Host": "audit.example.org", "Sec-Fetch-Site": "same-origin"}
    trusted = {"trusted_hosts": ("audit.example.org",), **settings_for(console_log)}
    with accounts_console(tmp_path, **trusted) as url:
        page = httpx.get(f"{url}/login", headers=named)
        [cookie] = page.headers.get_list("set-cookie")
        assert cookie.startswith("__Host-failproof_es_login=")
        assert "; Secure" in cookie and "domain" not in cookie.lower()
        form = {"form_token": form_token(page), "name": "ann", "password": PASSWORDS["ann"]}
        sent_with = {**named, "Cookie": cookie.split(";")[0]}
        for origin, status in (
            ("http://audit.example.org", 403),
            ("https://audit.example.org", 303),
        ):
            sent = httpx.post(f"{url}/login", data=form, headers={**sent_with, "Origin": origin})
            assert sent.status_code == status
        [session] = [header for header in sent.headers.get_list("set-cookie") if COOKIE in header]
        assert session.startswith(f"__Host-{COOKIE}=") and "; Secure" in session
        value = session.split(";")[0]
        shown = httpx.get(f"{url}/runs", headers={**named, "Cookie": value})
        assert shown.status_code == 200
        unprefixed = value.removeprefix("__Host-")  # another host below example.org can set it
        for other in (unprefixed, f"{value}; {value}"):
            refused = httpx.get(f"{url}/runs", headers={**named, "Cookie": other})
            assert refused.status_code == 303


def test_each_login_has_a_session_of_its_own_and_ends_the_one_before(shared_url: str) -> None:
    with browser(shared_url, "127.0.1.4") as client:
        send_login(client, "ann", PASSWORDS["ann"])
        first = client.cookies[COOKIE]
        assert client.get("/login").headers["location"] == "/runs"  # is logged in
        client.cookies.delete(COOKIE)
        token = form_token(client.get("/login"))
        client.cookies.set(COOKIE, first)
        form = {"form_token": token, "name": "bob", "password": PASSWORDS["bob"]}
        assert client.post("/login", data=form).status_code == 303
    assert with_cookie(shared_url, first).status_code == 303


def test_a_session_that_an_attacker_plants_is_not_adopted(shared_url: str) -> None:
    planted = "A" * 43
    with browser(shared_url, "127.0.1.4") as client:
        client.cookies.set(COOKIE, planted, domain="127.0.0.1")
        sent = send_login(client, "ann", PASSWORDS["ann"])
        assert sent.status_code == 303
        assert planted not in str(sent.headers.get_list("set-cookie"))
    assert with_cookie(shared_url, planted).status_code == 303


def test_no_cookie_but_the_whole_right_one_once_opens_a_page(shared_url: str) -> None:
    with logged_in(shared_url, "ann", "127.0.1.5") as ann:
        own = ann.cookies[COOKIE]
    with logged_in(shared_url, "bob", "127.0.1.5") as bob:
        other = bob.cookies[COOKIE]
    assert with_cookie(shared_url, own).status_code == 200
    swapped = own[:20] + other[20:]
    for values in (
        ("",), (own[:-1],), (own[1:],), (own + "A",), (own.swapcase(),), (swapped,), (own, own),
        (own, "x"), ("x", own), (own, other), ("A" * 43,), (f'"{own}"',), ("ann",),
        (own.replace(own[0], "%" + own[0].encode().hex(), 1),),
    ):  # fmt: skip
        assert with_cookie(shared_url, *values).status_code == 303, values
    twice = [("Cookie", f"{COOKIE}={own}"), ("Cookie", f"{COOKIE}={own}")]
    assert httpx.get(f"{shared_url}/runs", headers=twice).status_code == 303


@pytest.mark.parametrize(
    ("column", "age_s", "status"),
    [
        ("begun_at", LONGEST_S - 60, 200), ("begun_at", LONGEST_S + 1, 303),
        ("seen_at", LONGEST_IDLE_S - 60, 200), ("seen_at", LONGEST_IDLE_S + 1, 303),
        ("seen_at", -3600, 303),
    ],
)  # fmt: skip
def test_a_session_ends_by_its_age_by_rest_and_by_a_clock_that_was_set_back(
    people_url: str, tmp_path: Path, column: str, age_s: float, status: int
) -> None:
    with logged_in(people_url) as client:
        with sqlite3.connect(tmp_path / "sessions.sqlite") as database:
            database.execute(f"UPDATE session SET {column} = ?", (time.time() - age_s,))
        database.close()
        assert client.get("/runs").status_code == status


def test_requests_keep_a_session_from_resting_and_ended_ones_are_deleted(tmp_path: Path) -> None:
    now = 1e9
    sessions = Sessions(tmp_path / "sessions.sqlite", lambda: now)
    value = sessions.begin("ann", "x")
    while now < 1e9 + LONGEST_S - 3600:
        now += 3600
        assert sessions.find(value) is not None
    now += 3600
    assert sessions.find(value) is None
    sessions.begin("bob", "x")
    with sqlite3.connect(tmp_path / "sessions.sqlite") as database:
        assert database.execute("SELECT name FROM session").fetchall() == [("bob",)]
    database.close()
    sessions.close()


def test_a_session_ends_with_its_logout_wherever_its_cookie_is(people_url: str) -> None:
    with logged_in(people_url) as client:
        value = client.cookies[COOKIE]
        page = client.get("/runs")
        client.post("/logout", data={"form_token": form_token(page)})
    assert with_cookie(people_url, value).status_code == 303


def test_a_session_and_an_open_form_survive_the_server_but_not_their_account(
    console_log: str, tmp_path: Path
) -> None:
    with accounts_console(tmp_path, **settings_for(console_log)) as url, logged_in(url) as client:
        value, token = client.cookies[COOKIE], form_token(client.get("/runs"))
    with accounts_console(tmp_path, **settings_for(console_log)) as url:
        assert with_cookie(url, value).status_code == 200
        remove_account(tmp_path / "accounts", "ann")
        assert with_cookie(url, value).status_code == 303
        write_account(tmp_path / "accounts", "ann", "another password")
        assert with_cookie(url, value).status_code == 303
        with browser(url) as client:
            client.cookies.set(COOKIE, value, domain="127.0.0.1")
            assert client.post("/logout", data={"form_token": token}).status_code == 401
            assert send_login(client, "ann", PASSWORDS["ann"]).status_code == 403
            assert send_login(client, "ann", "another password").status_code == 303


def test_the_files_have_no_password_and_no_cookie_and_are_for_this_user_alone(
    people_url: str, tmp_path: Path
) -> None:
    with logged_in(people_url) as client:
        value = client.cookies[COOKIE]
    for path in (tmp_path / "accounts", tmp_path / "sessions.sqlite"):
        content = path.read_bytes()
        assert path.stat().st_mode & 0o077 == 0
        assert value.encode() not in content
        assert not any(password.encode() in content for password in PASSWORDS.values())


# -- accounts ---------------------------------------------------------------------------------


def test_accounts_that_become_unusable_let_nobody_in_until_they_are_repaired(
    people_url: str, tmp_path: Path
) -> None:
    accounts = tmp_path / "accounts"
    content = accounts.read_text()
    with logged_in(people_url) as client:
        for damage in (
            lambda: accounts.chmod(0o640),
            lambda: accounts.write_text(content + "no account\n"),
            lambda: accounts.unlink(),
        ):
            damage()
            found = client.get("/runs")
            assert found.status_code == 503 and "login-unavailable" in found.text
            assert "argon2" not in found.text and str(accounts) not in found.text
            accounts.touch(mode=0o600)
            accounts.chmod(0o600)
            accounts.write_text(content)
            assert client.get("/runs").status_code == 200


@pytest.mark.parametrize(
    ("content", "code"),
    [
        ("", "no-account"), ("ann\n", "invalid-account"), ("ann:secret\n", "invalid-account"),
        (":$argon2id$\n", "invalid-account"), (" ann:HASH\n", "invalid-account"),
        ("ann\x1b:HASH\n", "invalid-account"), ("ann:HASH\nann:HASH\n", "duplicate-name"),
        ("\n", "invalid-account"), (f"{'a' * 201}:HASH\n", "invalid-account"),
        ("ann:OTHER\n", "invalid-account"),
        ("ann:$argon2id$v=19$m=99999999,t=1,p=1$c29tZXNhbHQ$aGFzaA\n", "invalid-account"),
    ],
)  # fmt: skip
def test_a_file_of_accounts_that_is_wrong_is_refused_without_being_quoted(
    tmp_path: Path, content: str, code: str
) -> None:
    path = tmp_path / "accounts"
    path.touch(mode=0o600)
    recorded = PasswordHasher(1, 64, 1).hash("x")
    other = recorded.replace("argon2id", "argon2i")
    path.write_text(content.replace("HASH", recorded).replace("OTHER", other))
    with pytest.raises(InvalidInput) as refused:
        Accounts(path)
    assert refused.value.problems[0].code == code
    assert "argon2id$" not in str(refused.value) and "secret" not in str(refused.value)


@pytest.mark.parametrize("mode", [0o604, 0o640, 0o660, 0o666])
def test_accounts_that_others_can_read_or_write_are_refused(tmp_path: Path, mode: int) -> None:
    path = write_accounts(tmp_path / "accounts")
    path.chmod(mode)
    with pytest.raises(InvalidInput) as refused:
        read_accounts(path)
    assert refused.value.problems[0].code == "insecure-path"


def test_accounts_that_are_no_regular_file_are_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "accounts", 0o600)
    with pytest.raises(InvalidInput) as refused:
        read_accounts(tmp_path / "accounts")
    assert refused.value.problems[0].code == "file-unreadable"
