"""Floods of logins: by name, by address, and by the addresses of one network."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from failproof_es.console.security.login_limits import BY_ADDRESS, BY_NAME, LoginLimits
from tests.console import settings_for
from tests.console_people import (
    COOKIE,
    PASSWORDS,
    accounts_console,
    browser,
    form_token,
    logged_in,
    send_login,
)


@pytest.fixture
def people_url(console_log: str, tmp_path: Path) -> Iterator[str]:
    with accounts_console(tmp_path, **settings_for(console_log)) as url:
        yield url


def test_a_flood_for_one_name_from_many_addresses_gets_ten_attempts_and_no_more(
    people_url: str,
) -> None:
    def attempt(number: int) -> int:
        with browser(people_url, f"127.0.3.{number + 1}") as client:
            return send_login(client, "ann", f"guess number {number}").status_code

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(attempt, range(40)))
    assert answers.count(403) == BY_NAME.amount
    assert answers.count(429) == 40 - BY_NAME.amount
    with browser(people_url, "127.0.3.99") as client:
        refused = send_login(client, "ann", PASSWORDS["ann"])
        assert refused.status_code == 429 and "too-many-logins" in refused.text
        assert 0 < int(refused.headers["retry-after"]) <= 600
        assert COOKIE not in client.cookies
    with logged_in(people_url, "bob", "127.0.3.99"):
        pass  # another name is not kept out


def test_a_flood_of_names_from_one_address_ends_and_keeps_no_other_address_out(
    people_url: str,
) -> None:
    with browser(people_url, "127.0.4.1") as client:
        token = form_token(client.get("/login"))
        answers = [
            client.post(
                "/login",
                data={"form_token": token, "name": f"person {number}", "password": "a guess"},
            ).status_code
            for number in range(BY_ADDRESS.amount + 20)
        ]
        assert answers == [403] * BY_ADDRESS.amount + [429] * 20
        refused = send_login(client, "ann", PASSWORDS["ann"])
        assert refused.status_code == 429
    with logged_in(people_url, "ann", "127.0.4.2"):
        pass


def test_a_login_forgets_the_attempts_of_its_name_and_not_those_of_its_address() -> None:
    limits = LoginLimits()
    for _ in range(BY_ADDRESS.amount // 5):
        for _ in range(5):
            assert limits.seconds_to_wait("ann", "10.0.0.1") == 0
        limits.forget("ann")
    assert limits.seconds_to_wait("ann", "10.0.0.1") > 0
    assert limits.seconds_to_wait("ann", "10.0.0.2") == 0


def test_all_addresses_of_one_ipv6_network_count_together() -> None:
    limits = LoginLimits()
    waits = [
        limits.seconds_to_wait(f"person {number}", f"2001:db8:1:2::{number:x}")
        for number in range(BY_ADDRESS.amount + 1)
    ]
    assert waits[-1] > 0 and not any(waits[:-1])
    assert limits.seconds_to_wait("ann", "2001:db8:1:3::1") == 0
    assert limits.seconds_to_wait("ann", "::ffff:10.0.0.1") == 0
