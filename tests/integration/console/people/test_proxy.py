"""A proxy logs people in: who does not come through it is nobody, whatever headers it sends."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from failproof_es.console.security.form_tokens import FormTokens
from failproof_es.console.security.sessions import Sessions
from failproof_es.console.settings import PROXY_SECRET_HEADER, ConsoleSettings, PeopleSettings
from failproof_es.problems import InvalidInput
from tests.console import console, settings_for
from tests.console_people import HEADER, SECRET


@pytest.fixture(scope="module")
def proxy_sessions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("proxy") / "sessions.sqlite"


@pytest.fixture(scope="module")
def proxied(console_log: str, proxy_sessions: Path) -> Iterator[str]:
    people = PeopleSettings(
        sessions=proxy_sessions,
        login_header=HEADER,
        proxy_secret=SECRET,
    )
    with console(people=people, **settings_for(console_log)) as url:
        yield url


def ask(url: str, *headers: tuple[str, str | bytes], path: str = "/runs") -> httpx.Response:
    encoded = [
        (name.encode(), value if isinstance(value, bytes) else value.encode())
        for name, value in headers
    ]
    return httpx.get(url + path, headers=encoded, timeout=60)


def through_proxy(*names: str | bytes) -> list[tuple[str, str | bytes]]:
    return [(PROXY_SECRET_HEADER, SECRET), *((HEADER, name) for name in names)]


@pytest.mark.parametrize("name", ["ann", "ann@example.org", "Zoë Ö", "a" * 200])
def test_the_person_whom_the_proxy_names_is_on_the_page(proxied: str, name: str) -> None:
    page = ask(proxied, *through_proxy(name))
    assert page.status_code == 200 and "nightly" in page.text
    assert name[:30] in page.text and "Log out" not in page.text


def test_a_name_is_text_and_no_markup(proxied: str) -> None:
    page = ask(proxied, *through_proxy("<script>alert(1)</script>"))
    assert page.status_code == 200
    assert "<script>alert" not in page.text and "&lt;script&gt;alert" in page.text


@pytest.mark.parametrize(
    "headers",
    [
        [], [(HEADER, "ann")], [(PROXY_SECRET_HEADER, SECRET)],
        [(HEADER, "ann"), (PROXY_SECRET_HEADER, "")],
        [(HEADER, "ann"), (PROXY_SECRET_HEADER, SECRET[:-1])],
        [(HEADER, "ann"), (PROXY_SECRET_HEADER, SECRET + "0")],
        [(HEADER, "ann"), (PROXY_SECRET_HEADER, SECRET.swapcase())],
        [(HEADER, "ann"), (PROXY_SECRET_HEADER, SECRET), (PROXY_SECRET_HEADER, SECRET)],
        [(HEADER, "ann"), (PROXY_SECRET_HEADER, "x"), (PROXY_SECRET_HEADER, SECRET)],
        [(HEADER, "ann"), (PROXY_SECRET_HEADER, f"{SECRET}, x")],
        [(HEADER, "ann"), ("X_Failproof_Proxy_Secret", SECRET)],
        [(HEADER, "ann"), ("Cookie", f"{PROXY_SECRET_HEADER}={SECRET}")],
        [("X_Remote_User", "ann"), (PROXY_SECRET_HEADER, SECRET)],
        [("Remote-User", "ann"), (PROXY_SECRET_HEADER, SECRET)],
        [(HEADER, "ann"), (HEADER, "bob"), (PROXY_SECRET_HEADER, SECRET)],
        [(HEADER, "ann"), (HEADER.lower(), "ann"), (PROXY_SECRET_HEADER, SECRET)],
        [(HEADER, "ann"), (HEADER.upper(), "bob"), (PROXY_SECRET_HEADER, SECRET)],
        [(HEADER, "ann, bob"), (PROXY_SECRET_HEADER, SECRET)],
        [(HEADER, "ann"), ("Authorization", f"Bearer {SECRET}")],
        [("X-Forwarded-User", "ann"), ("Forwarded", "for=127.0.0.1"),
         (PROXY_SECRET_HEADER, SECRET)],
    ],
)  # fmt: skip
def test_nobody_is_let_in_without_the_secret_and_one_name(
    proxied: str, headers: list[tuple[str, str | bytes]]
) -> None:
    for path in ("/runs", "/runs.json", "/runs.csv", "/runs/1", "/runs/1/live", "/login"):
        found = ask(proxied, *headers, path=path)
        assert found.status_code == 401, path
        assert "proxy-login-required" in found.text
        assert "nightly" not in found.text and SECRET not in found.text


@pytest.mark.parametrize(
    "name",
    [
        "", "a\tb", b"ann\xff", b"\xe9", "ann\u202e", "ann\u200b", "\u3164", "a" * 201,
        "ann\u0085", "\u2028", b"\xed\xa0\x80", b"\xc0\xae", "ann\x7f", "ann,", "\ufeffann",
    ],
)  # fmt: skip
def test_a_name_that_no_reviewer_can_have_is_refused(proxied: str, name: str | bytes) -> None:
    found = ask(proxied, *through_proxy(name))
    assert found.status_code in (400, 401)
    assert "nightly" not in found.text


@pytest.mark.parametrize(
    "lines",
    [
        f"{HEADER}: ann\x00", f"{HEADER}: ann\r\n {PROXY_SECRET_HEADER}: {SECRET}",
        f"{HEADER} : ann\r\n{PROXY_SECRET_HEADER}: {SECRET}",
        f"{HEADER}: ann\r\n{PROXY_SECRET_HEADER} : {SECRET}",
        f"{HEADER}: ann\r\n bob\r\n{PROXY_SECRET_HEADER}: {SECRET}",
        f"{HEADER}: ann\rX: y\r\n{PROXY_SECRET_HEADER}: {SECRET}",
        f"{HEADER}: ann\nX: y\r\n{PROXY_SECRET_HEADER}: x",
        f"\x0b{HEADER}: ann\r\n{PROXY_SECRET_HEADER}: {SECRET}",
        f"Connection: {PROXY_SECRET_HEADER}\r\n{HEADER}: ann",
        f"{HEADER}: ann\r\nTransfer-Encoding: chunked\r\nTrailer: {PROXY_SECRET_HEADER}\r\n\r\n"
        f"0\r\n{PROXY_SECRET_HEADER}: {SECRET}",
    ],
)  # fmt: skip
def test_odd_header_lines_let_nobody_in_or_name_nobody_else(proxied: str, lines: str) -> None:
    answer = raw(
        proxied,
        f"GET /runs HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{lines}\r\n\r\n",
    )
    status = answer.split(b" ")[1] if answer else b"closed"
    folded = "ann\r\n bob" in lines  # HTTP/1 joins a folded line with a space
    assert status in (b"400", b"401", b"closed") or (folded and b"ann bob" in answer), answer[:300]
    assert folded or b"nightly" not in answer


@pytest.mark.parametrize(
    "body_headers",
    [
        "Content-Length: {length}", "Transfer-Encoding: chunked",
        "Content-Length: {length}\r\nTransfer-Encoding: chunked",
        "Content-Length: 0\r\nContent-Length: {length}", "Transfer-Encoding: xchunked",
        "Content-Length: +{length}",
    ],
)  # fmt: skip
def test_a_request_that_is_hidden_in_the_body_of_another_has_no_person(
    proxied: str, body_headers: str
) -> None:
    """A proxy may take for a body what the server takes for a second request."""
    hidden = f"GET /runs.json HTTP/1.1\r\nHost: localhost\r\n{HEADER}: ann\r\n\r\n"
    answer = raw(
        proxied,
        "POST /runs HTTP/1.1\r\nHost: localhost\r\n"
        f"{PROXY_SECRET_HEADER}: {SECRET}\r\n{HEADER}: bob\r\n"
        f"{body_headers.format(length=len(hidden))}\r\n\r\n0\r\n\r\n{hidden}",
    )
    assert b"nightly" not in answer


def test_the_token_of_a_form_is_one_persons(proxied: str, proxy_sessions: Path) -> None:
    """Behind a proxy `/logout` does nothing: it stands for any page that writes."""
    sessions = Sessions(proxy_sessions)
    issuer = FormTokens(sessions.form_key)
    sessions.close()
    tokens = {name: issuer.issue(f"proxy {name}") for name in ("ann", "bob")}
    for name, token, status in (
        ("ann", tokens["bob"], 403),
        ("ann", "", 403),
        ("ann", tokens["ann"], 404),
    ):
        sent = httpx.post(
            f"{proxied}/logout",
            data={"form_token": token},
            headers=[*_encoded(through_proxy(name)), (b"Origin", proxied.encode())],
        )
        assert sent.status_code == status, name
    foreign = httpx.post(
        f"{proxied}/logout",
        data={"form_token": tokens["ann"]},
        headers=[*_encoded(through_proxy("ann")), (b"Origin", b"http://evil.example")],
    )
    assert foreign.status_code == 403
    without = httpx.post(
        f"{proxied}/logout", data={"form_token": tokens["ann"]}, headers={"Origin": proxied}
    )
    assert without.status_code == 401


def test_probes_and_static_files_need_no_proxy(proxied: str) -> None:
    assert ask(proxied, path="/healthz").status_code == 200
    assert ask(proxied, path="/static/console.css").status_code == 200


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        ({}, "missing-option"),
        ({"login_header": HEADER}, "missing-option"),
        ({"proxy_secret": SECRET}, "missing-option"),
        ({"accounts": Path("a"), "proxy_secret": SECRET}, "missing-option"),
        ({"accounts": Path("a"), "login_header": HEADER, "proxy_secret": SECRET},
         "options-conflict"),
        ({"login_header": HEADER, "proxy_secret": "short"}, "invalid-token"),
        ({"login_header": HEADER, "proxy_secret": "spaces are not allowed"}, "invalid-token"),
        *(
            ({"login_header": header, "proxy_secret": SECRET}, "invalid-header")
            for header in ("", "X Y", "X:Y", "X\n", "Cookie", "host", "Origin", "Sec-Fetch-Site",
                           "X-Failproof-Proxy-Secret", "X_Remote_User", "Content-Type")
        ),
    ],
)  # fmt: skip
def test_settings_that_would_let_others_in_are_refused(
    tmp_path: Path, settings: dict[str, str], code: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        PeopleSettings(sessions=tmp_path / "s", **settings)  # type: ignore[arg-type]
    assert refused.value.problems[0].code == code
    assert SECRET not in str(refused.value)


def test_people_take_the_place_of_the_token_on_an_address_that_others_reach(tmp_path: Path) -> None:
    people = PeopleSettings(sessions=tmp_path / "s", login_header=HEADER, proxy_secret=SECRET)
    where = {"database_url": "postgresql://x", "host": "0.0.0.0", "token": None}
    ConsoleSettings(**where, people=people, trusted_hosts=("a.example",))  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="the name that browsers use"):
        ConsoleSettings(**where, people=people)  # type: ignore[arg-type]


def raw(url: str, request: str) -> bytes:
    """Everything that the server sends for these bytes, until it closes or is silent."""
    where = urlsplit(url)
    with socket.create_connection((where.hostname or "", where.port or 80), timeout=5) as sent:
        sent.sendall(request.encode("latin-1"))
        sent.shutdown(socket.SHUT_WR)
        answer = b""
        while piece := _received(sent):
            answer += piece
    return answer


def _received(connection: socket.socket) -> bytes:
    try:
        return connection.recv(65536)
    except (ConnectionError, TimeoutError):
        return b""


def _encoded(headers: list[tuple[str, str | bytes]]) -> list[tuple[bytes, bytes]]:
    return [
        (name.encode(), value if isinstance(value, bytes) else value.encode())
        for name, value in headers
    ]
