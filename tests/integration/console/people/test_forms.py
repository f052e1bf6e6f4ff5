"""What a form that is sent to the console has to have; each attack over real HTTP."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode, urlsplit

import httpx
import pytest
from itsdangerous import URLSafeTimedSerializer

from failproof_es.console.security import form_tokens, posts
from failproof_es.console.security.form_tokens import FormTokens
from failproof_es.console.security.posts import LONGEST_FORM, MOST_FIELDS
from tests.console import console, settings_for
from tests.console_people import (
    COOKIE,
    PASSWORDS,
    accounts_console,
    browser,
    form_token,
    logged_in,
)


@pytest.fixture(scope="module")
def people_url(console_log: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with accounts_console(tmp_path_factory.mktemp("forms"), **settings_for(console_log)) as url:
        yield url


@pytest.fixture
def ann(people_url: str) -> Iterator[httpx.Client]:
    with logged_in(people_url) as client:
        yield client


def is_in(client: httpx.Client) -> bool:
    return client.get("/runs").status_code == 200


def post_logout(client: httpx.Client, token: Any, **headers: str | None) -> httpx.Response:
    """Send the logout's form with other headers; `None` leaves one out."""
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    request = client.build_request("POST", "/logout", data={"form_token": token})
    for name, value in names.items():
        request.headers.pop(name, None)
        if value is not None:
            request.headers[name] = value
    return client.send(request)


@pytest.mark.parametrize(
    ("headers", "accepted"),
    [
        ({}, True),
        ({"origin": None}, True),
        ({"sec_fetch_site": None}, True),
        ({"origin": None, "sec_fetch_site": None}, False),
        ({"origin": "null"}, False),
        ({"origin": "null", "sec_fetch_site": None}, False),
        ({"origin": ""}, False),
        ({"origin": "http://evil.example"}, False),
        ({"origin": "http://evil.example", "sec_fetch_site": None}, False),
        ({"origin": "http://127.0.0.1"}, False),
        ({"origin": "http://127.0.0.1:1"}, False),
        ({"origin": "OWN.evil.example"}, False),
        ({"origin": "OWN/"}, False),
        ({"origin": "OWN OWN"}, False),
        ({"origin": "ftp://HOST"}, False),
        ({"origin": "http://user@HOST"}, False),
        ({"origin": "http://[::1"}, False),
        ({"sec_fetch_site": "cross-site"}, False),
        ({"sec_fetch_site": "same-site"}, False),
        ({"sec_fetch_site": "none"}, False),
        ({"sec_fetch_site": "same-origin, cross-site"}, False),
        ({"sec_fetch_site": "Same-Origin"}, False),
        ({"sec_fetch_site": ""}, False),
        ({"origin": None, "sec_fetch_site": "cross-site"}, False),
    ],
)
def test_a_form_is_accepted_from_a_page_of_this_console_alone(
    ann: httpx.Client, headers: dict[str, str | None], accepted: bool
) -> None:
    own = str(ann.base_url).rstrip("/")
    host = own.removeprefix("http://")
    sent_headers = {
        name: value and value.replace("OWN", own).replace("HOST", host)
        for name, value in headers.items()
    }
    sent = post_logout(ann, form_token(ann.get("/runs")), **sent_headers)
    assert (sent.status_code == 303) is accepted, sent.text
    if not accepted:
        assert (sent.status_code, "foreign-request" in sent.text) == (403, True)
    assert is_in(ann) is not accepted


def test_two_origins_or_two_sites_are_refused(ann: httpx.Client) -> None:
    own, token = str(ann.base_url).rstrip("/"), form_token(ann.get("/runs"))
    body = urlencode({"form_token": token})
    for twice in (
        f"Origin: {own}\r\nOrigin: http://evil.example\r\nSec-Fetch-Site: same-origin",
        f"Origin: {own}\r\nSec-Fetch-Site: same-origin\r\nSec-Fetch-Site: cross-site",
    ):
        answer = _raw(
            own,
            f"POST /logout HTTP/1.1\r\nHost: {urlsplit(own).netloc}\r\n{twice}\r\n"
            f"Cookie: {COOKIE}={ann.cookies[COOKIE]}\r\nContent-Length: {len(body)}\r\n"
            f"Content-Type: application/x-www-form-urlencoded\r\n\r\n{body}",
        )
        assert answer.split(b" ")[1] == b"403", answer[:300]
    assert is_in(ann)


def test_a_form_needs_the_token_of_its_own_session(
    ann: httpx.Client, people_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = form_token(ann.get("/runs"))
    with logged_in(people_url, "ann") as elsewhere, logged_in(people_url, "bob") as bob:
        of_another_session = form_token(elsewhere.get("/runs"))
        of_another_person = form_token(bob.get("/runs"))
    with browser(people_url) as stranger:
        of_the_login = form_token(stranger.get("/login"))
    binding, stamp, signature = own.rsplit(".", 2)
    other_binding = of_another_person.rsplit(".", 2)[0]
    foreign = FormTokens(b"another key").issue("session x")
    unsigned = URLSafeTimedSerializer("", salt="failproof-es form").dumps("session x")
    for token in (
        "", "x", of_another_session, of_another_person, of_the_login, own[:-1], own[1:], own + "A",
        own.swapcase(), f"{other_binding}.{stamp}.{signature}", f"{binding}.{stamp}.",
        f"{binding}..{signature}", f"{binding}.AAAAAA.{signature}", foreign, unsigned, "." * 5000,
        "\x00", "\u202e", ann.cookies[COOKIE],
    ):  # fmt: skip
        sent = post_logout(ann, token)
        assert (sent.status_code, "form-outdated" in sent.text) == (403, True), token
    for twice in ([own, own], [own, "x"]):
        sent = post_logout(ann, twice)
        assert (sent.status_code, "invalid-form" in sent.text) == (400, True)
    assert is_in(ann)
    with monkeypatch.context() as later:
        later.setattr(form_tokens, "LONGEST_S", -1)
        assert post_logout(ann, own).status_code == 403
    assert is_in(ann)
    assert post_logout(ann, own).status_code == 303
    assert not is_in(ann)


def test_a_token_in_the_url_is_not_one_of_the_form(ann: httpx.Client) -> None:
    token = form_token(ann.get("/runs"))
    sent = ann.post(f"/logout?form_token={token}", data={"a": "b"})
    assert sent.status_code == 403 and is_in(ann)


def test_a_login_needs_the_token_that_its_own_browser_was_shown(people_url: str) -> None:
    """An attacker could else log a reviewer in as somebody else."""
    with browser(people_url) as attacker, browser(people_url) as victim:
        shown_to_attacker = form_token(attacker.get("/login"))
        form = {"form_token": shown_to_attacker, "name": "bob", "password": PASSWORDS["bob"]}
        assert victim.post("/login", data=form).status_code == 403
        victim.get("/login")
        assert victim.post("/login", data=form).status_code == 403
        assert attacker.post("/login", data=form).status_code == 303


def test_nobody_sends_a_form_without_being_logged_in(people_url: str) -> None:
    with browser(people_url) as stranger:
        token = form_token(stranger.get("/login"))
        sent = stranger.post("/logout", data={"form_token": token})
        assert (sent.status_code, "login-required" in sent.text) == (401, True)


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("application/x-www-form-urlencoded; charset=utf-8", 303),
        ("application/json", 415), ("text/plain", 415), ("multipart/form-data; boundary=x", 415),
        ("", 415), ("application/x-www-form-urlencodedx", 415),
    ],
)  # fmt: skip
def test_a_form_has_one_type(ann: httpx.Client, kind: str, status: int) -> None:
    body = urlencode({"form_token": form_token(ann.get("/runs"))})
    sent = ann.post("/logout", content=body, headers={"Content-Type": kind})
    assert sent.status_code == status


@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize(
    ("size", "status"), [(LONGEST_FORM, 303), (LONGEST_FORM + 1, 413), (3_000_000, 413)]
)
def test_a_form_has_at_most_64_kib(
    ann: httpx.Client, size: int, status: int, chunked: bool
) -> None:
    body = f"form_token={form_token(ann.get('/runs'))}&notes=".encode()
    body += b"x" * (size - len(body))
    pieces = (body[start : start + 9_999] for start in range(0, len(body), 9_999))
    kind = {"Content-Type": "application/x-www-form-urlencoded"}
    try:
        sent = ann.post("/logout", content=pieces if chunked else body, headers=kind)
    except httpx.TransportError:  # it was closed while more was sent
        assert status == 413
    else:
        assert sent.status_code == status
    assert is_in(ann) is (status == 413)


@pytest.mark.parametrize(
    "fields",
    [
        "&".join(f"f{number}=1" for number in range(MOST_FIELDS + 1)), "&" * (MOST_FIELDS + 1),
        "notes=%ff%fe", "notes=\xe9", "notes=%ed%a0%80",
    ],
)  # fmt: skip
def test_a_form_that_cannot_be_read_is_refused(ann: httpx.Client, fields: str) -> None:
    body = f"form_token={form_token(ann.get('/runs'))}&{fields}".encode("latin-1")
    kind = {"Content-Type": "application/x-www-form-urlencoded"}
    sent = ann.post("/logout", content=body, headers=kind)
    assert (sent.status_code, "invalid-form" in sent.text) == (400, True)
    assert is_in(ann)


def test_a_form_that_does_not_arrive_is_given_up(
    ann: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(posts, "FORM_S", 0.3)
    own, begun = str(ann.base_url).rstrip("/"), time.monotonic()
    answer = _raw(
        own,
        f"POST /logout HTTP/1.1\r\nHost: {urlsplit(own).netloc}\r\nOrigin: {own}\r\n"
        f"Cookie: {COOKIE}={ann.cookies[COOKIE]}\r\nContent-Length: 1000\r\n"
        "Content-Type: application/x-www-form-urlencoded\r\n\r\nform_token=",
    )
    assert answer.split(b" ")[1] == b"408" and time.monotonic() - begun < 20


def test_a_form_is_not_read_before_its_sender_is_known(people_url: str) -> None:
    answer = _raw(
        people_url,
        f"POST /logout HTTP/1.1\r\nHost: {urlsplit(people_url).netloc}\r\nOrigin: {people_url}\r\n"
        "Content-Length: 1000000\r\nContent-Type: application/x-www-form-urlencoded\r\n\r\n",
    )
    assert answer.split(b" ")[1] == b"401" and b"connection: close" in answer.lower()


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "BREW"])
def test_only_the_pages_that_write_accept_a_form_and_nothing_but_a_form(
    ann: httpx.Client, method: str
) -> None:
    token = form_token(ann.get("/runs"))
    for path in ("/runs", "/runs/1", "/review", "/healthz", "/login", "/logout", "/login/x"):
        if method == "POST" and path in ("/login", "/logout"):
            continue
        sent = ann.request(method, path, data={"form_token": token})
        assert sent.status_code == 405, path
        allowed = "GET, HEAD, POST" if path in ("/login", "/logout") else "GET, HEAD"
        assert sent.headers["allow"] == allowed
    assert is_in(ann)


def test_a_console_that_only_reads_has_no_page_that_writes(console_log: str) -> None:
    with console(**settings_for(console_log)) as url:
        for path in ("/login", "/logout"):
            assert httpx.get(url + path).status_code == 404
            sent = httpx.post(url + path, data={"a": "b"}, headers={"Origin": url})
            assert (sent.status_code, sent.headers["allow"]) == (405, "GET, HEAD")


def test_a_page_with_a_form_can_be_in_no_frame_and_in_no_cache(ann: httpx.Client) -> None:
    with browser(str(ann.base_url)) as stranger:
        login_page = stranger.get("/login")
    for page in (ann.get("/runs"), login_page):
        assert page.headers["x-frame-options"] == "DENY"
        policy = page.headers["content-security-policy"]
        assert "frame-ancestors 'none'" in policy and "form-action 'self'" in policy
        assert page.headers["cache-control"] == "no-store"
        assert page.headers["referrer-policy"] == "same-origin"


def test_no_secret_is_in_an_error_a_page_or_the_servers_log(
    ann: httpx.Client,
    people_url: str,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    caplog.set_level(0)
    password, cookie = "a secret that nobody shows", ann.cookies[COOKIE]
    texts = []
    with browser(people_url, "127.0.5.1") as client:
        token = form_token(client.get("/login"))
        for form in (
            {"form_token": token, "name": "ann", "password": password},
            {"form_token": "x", "name": "ann", "password": password},
            {"form_token": [token, token], "name": "ann", "password": password},
            {"form_token": token, "name": ["ann", "bob"], "password": password},
            {"form_token": token, "name": "ann", "password": [password, "x"]},
        ):
            sent = client.post("/login", data=form)
            assert sent.status_code in (400, 403)
            texts.append(sent.text)
    texts += [ann.get(path).text for path in ("/runs", "/nothing", "/runs.json", "/openapi.json")]
    ours = [
        record for record in caplog.records if not record.name.startswith(("httpx", "httpcore"))
    ]
    texts += [str(record.__dict__) for record in ours] + [*capfd.readouterr()]
    for text in texts:
        assert password not in text and cookie not in text and "argon2id" not in text


def _raw(url: str, request: str) -> bytes:
    where = urlsplit(url)
    with socket.create_connection((where.hostname or "", where.port or 80), timeout=20) as sent:
        sent.sendall(request.encode())
        answer = b""
        while piece := sent.recv(65536):
            answer += piece
            if b"</html>" in answer:
                break
    return answer
