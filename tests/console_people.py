"""People at a console: their accounts, and browsers that log in and send forms."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from argon2 import PasswordHasher

from failproof_es.console.security.account_file import normalized
from failproof_es.console.settings import PeopleSettings
from tests.console import console

QUICK = PasswordHasher(time_cost=1, memory_cost=64, parallelism=1)
"""Hashes in a millisecond: tests log in often."""
PASSWORDS = {
    "ann": "correct horse battery",
    "bob": "staple and a stapler",
    "Zoë": "zo\u0308e zoe zoe",
}
SECRET = "a-secret-of-the-proxy-0123456789"
HEADER = "X-Remote-User"
COOKIE = "failproof_es_session"
_TOKEN = re.compile(r'name="form_token" value="([^"]+)"')


def write_accounts(path: Path, passwords: Mapping[str, str] = PASSWORDS) -> Path:
    """A file of accounts for this user alone."""
    path.touch(mode=0o600)
    path.write_text("".join(f"{n}:{QUICK.hash(normalized(p))}\n" for n, p in passwords.items()))
    return path


@contextmanager
def accounts_console(folder: Path, **settings: Any) -> Iterator[str]:
    """A console for the people of `PASSWORDS`, whose files are in the folder."""
    accounts = folder / "accounts"
    if not accounts.exists():
        write_accounts(accounts)
    people = PeopleSettings(sessions=folder / "sessions.sqlite", accounts=accounts)
    with console(people=people, **settings) as url:
        yield url


def browser(url: str, address: str = "127.0.0.1") -> httpx.Client:
    """A browser without JavaScript, at this address of loopback. It follows no redirect."""
    transport = httpx.HTTPTransport(local_address=address, verify=False)
    return httpx.Client(
        base_url=url,
        timeout=60,
        transport=transport,
        headers={"Origin": url, "Sec-Fetch-Site": "same-origin"},
    )


def form_token(response: httpx.Response) -> str:
    """The token in the page's first form that writes."""
    found = _TOKEN.search(response.text)
    assert found, (response.status_code, response.text[:500])
    return found[1]


def send_login(client: httpx.Client, name: str, password: str, **more: str) -> httpx.Response:
    """Open the login's page and send its form."""
    token = form_token(client.get("/login"))
    form = {"form_token": token, "name": name, "password": password, **more}
    return client.post("/login", data=form)


@contextmanager
def logged_in(url: str, name: str = "ann", address: str = "127.0.0.1") -> Iterator[httpx.Client]:
    """A browser in which this person has logged in."""
    with browser(url, address) as client:
        sent = send_login(client, name, PASSWORDS[name])
        assert sent.status_code == 303, sent.text
        yield client


def with_cookie(url: str, *values: str) -> httpx.Response:
    """The list of runs, asked with these values of the session's cookie, in one header."""
    cookie = "; ".join(f"{COOKIE}={value}" for value in values)
    return httpx.get(f"{url}/runs", headers={"Cookie": cookie}, timeout=60)
