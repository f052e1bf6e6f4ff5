"""What the console refuses, and what it says to browsers; against a real server."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from urllib.parse import urlsplit

import httpx
import pytest
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from failproof_es.console.security.guards import (
    LONGEST_URL,
    Guard,
    host_of,
    refuse_other_hosts,
)
from failproof_es.console.security.headers import HEADERS
from failproof_es.console.security.token import COOKIE, cookie_value, refuse_without_token
from failproof_es.console.settings import ConsoleSettings
from failproof_es.problems import InvalidInput
from tests.console import console, settings_for

TOKEN = "a-token-of-32-characters-0123456"
ADDRESSES = ("/runs", "/runs.json", "/runs/1", "/static/console.css", "/openapi.json", "/nothing")


def raw(url: str, request: bytes) -> bytes:
    """What the server answers to these bytes, until it closes."""
    where = urlsplit(url)
    assert where.hostname is not None
    with socket.create_connection((where.hostname, where.port or 80), timeout=20) as sent:
        sent.sendall(request)
        sent.shutdown(socket.SHUT_WR)
        answer = b""
        while piece := sent.recv(65536):
            answer += piece
    return answer


@pytest.mark.parametrize(
    "method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "BREW"]
)
def test_only_get_and_head_are_answered(client: httpx.Client, method: str) -> None:
    for path in ADDRESSES:
        if method == "CONNECT":
            answer = raw(
                str(client.base_url), f"CONNECT {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
            )
            assert b" 405 " in answer.split(b"\r\n")[0]
            continue
        found = client.request(method, path, content=b"x=1" if method == "POST" else None)
        assert found.status_code == 405, (method, path)
        assert found.headers["allow"] == "GET, HEAD"


@pytest.mark.parametrize("path", ["/runs", "/runs/1", "/runs.json", "/static/console.css"])
def test_head_answers_as_get_without_the_body(client: httpx.Client, path: str) -> None:
    got, head = client.get(path), client.head(path)
    assert (head.status_code, head.content) == (got.status_code, b"")
    assert head.headers["content-type"] == got.headers["content-type"]


@pytest.mark.parametrize(
    "host",
    [
        "evil.example", "evil.example:80", "127.0.0.1.evil.example", "localhost.evil.example",
        "localhost@evil.example", "[::1].evil.example", "127.0.0.1:80:80", "127.0.0.1:x", "",
        "xn--localhost", "LOCALHOST.", "0.0.0.0", "127.0.0.2", "2130706433",
    ],
)  # fmt: skip
def test_a_name_that_is_not_trusted_is_refused_whatever_it_points_at(
    client: httpx.Client, host: str
) -> None:
    for path in ADDRESSES:
        found = client.get(path, headers={"Host": host})
        assert found.status_code == 421, (host, path)
        assert "nightly" not in found.text


def test_one_host_is_named_and_no_second_one(client: httpx.Client) -> None:
    for named in ("", "Host: localhost\r\nHost: evil.example\r\n"):
        answer = raw(str(client.base_url), f"GET /runs HTTP/1.1\r\n{named}\r\n".encode())
        assert answer.split(b" ")[1] in (b"400", b"421")
        assert b"nightly" not in answer


@pytest.mark.parametrize("host", ["localhost", "LocalHost:1", "127.0.0.1", "[::1]:8321"])
def test_the_names_of_loopback_are_trusted(client: httpx.Client, host: str) -> None:
    assert client.get("/runs", headers={"Host": host}).status_code == 200


def test_a_port_is_no_part_of_the_host() -> None:
    assert host_of("Example.org:80") == "example.org"
    assert host_of("[::1]") == "[::1]"
    assert host_of("[::1]:99") == "[::1]"
    assert host_of("a:b") == ""


@pytest.mark.parametrize("path", ADDRESSES)
def test_every_answer_has_the_headers_that_keep_it_harmless(
    client: httpx.Client, path: str
) -> None:
    for found in (client.get(path), client.post(path), client.get(path, headers={"Host": "x"})):
        for name, value in HEADERS.items():
            assert found.headers.get_list(name) == [value], (found.status_code, name)
        assert "server" not in found.headers
        if not path.startswith("/static/"):
            assert found.headers["cache-control"] == "no-store"


def test_the_policy_allows_our_own_files_alone() -> None:
    policy = dict(each.split(" ", 1) for each in HEADERS["Content-Security-Policy"].split("; "))
    assert policy["default-src"] == policy["base-uri"] == policy["frame-ancestors"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["form-action"] == "'self'"
    assert policy["require-trusted-types-for"] == "'script'"
    assert policy["trusted-types"] == "'none'"
    assert "unsafe" not in HEADERS["Content-Security-Policy"]


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py", "/static/%2e%2e/app.py", "/static/..%2fapp.py",
        "/static/%2e%2e%2fapp.py",
        "/static/..%5capp.py", "/static//etc/passwd", "/static/%00", "/static/console.css%00.html",
        "/static/", "/static", "/..%2f..%2fetc/passwd", "/static/....//app.py",
    ],
)  # fmt: skip
def test_no_path_leaves_the_table_of_files(client: httpx.Client, path: str) -> None:
    answer = raw(
        str(client.base_url),
        f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode(),
    )
    assert answer.split(b" ")[1] in (b"400", b"404"), answer[:200]
    assert b"create_app" not in answer and b"root:" not in answer


def test_a_url_that_is_too_long_is_refused(client: httpx.Client) -> None:
    most = LONGEST_URL - len("/runstext=")
    assert client.get("/runs?text=" + "a" * most).status_code == 422  # the parameter is too long
    assert client.get("/runs?text=" + "a" * (most + 1)).status_code == 414
    assert client.get("/" + "a" * LONGEST_URL).status_code == 414


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ("colour=red", "colour: there is no such parameter"),
        ("status=odd", "status: "),
        ("limit=0", "limit: "),
        ("limit=201", "limit: "),
        ("limit=ten", "limit: "),
        ("after=99999999999999999999", "after: "),
        ("after=x", "after: String should match"),
        ("after=1~2", "after: String should match"),
        ("status=failed&status=paused", "status: it stands there twice"),
        ("%3Cscript%3E=1", "&lt;script&gt;: there is no such parameter"),
    ],
)
def test_a_parameter_that_is_wrong_is_named(client: httpx.Client, query: str, named: str) -> None:
    found = client.get(f"/runs?{query}")
    assert found.status_code == 422
    assert named in found.text
    told = client.get(f"/runs.json?{query}")
    assert told.status_code == 422
    error = told.json()
    assert (error["status"], error["code"]) == (422, "invalid-parameter")
    assert "<code>invalid-parameter</code>" in found.text


def test_an_unknown_parameter_is_refused_on_a_page_without_any(client: httpx.Client) -> None:
    assert client.get("/runs/1?x=1").status_code == 422


@pytest.mark.parametrize(
    "text", ["\x00", "%00", "a\x00b", "'; DROP TABLE runs; --", "\ud800", "\x1b[2J"]
)
def test_no_text_in_a_filter_breaks_a_page(client: httpx.Client, text: str) -> None:
    shown = text.encode("utf-8", "surrogatepass")
    found = client.get("/runs?text=" + "".join(f"%{byte:02x}" for byte in shown))
    assert found.status_code == 200
    assert "\x1b" not in found.text and "\x00" not in found.text


def test_no_header_is_made_from_what_a_request_says(client: httpx.Client) -> None:
    for path in ("/runs%0d%0aX-Evil:%201", "/runs?text=%0d%0aX-Evil:%201", "/%0d%0aX-Evil:1"):
        assert "x-evil" not in client.get(path).headers


# -- the token --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def guarded(console_log: str) -> Iterator[str]:
    with console(token=TOKEN, **settings_for(console_log)) as url:
        yield url


@pytest.mark.parametrize(
    "headers",
    [
        {}, {"Authorization": TOKEN}, {"Authorization": "Bearer"}, {"Authorization": "Bearer x"},
        {"Authorization": f"Basic {TOKEN}"}, {"Authorization": f"Bearer {TOKEN}x"},
        {"Cookie": f"{COOKIE}={TOKEN}"}, {"Cookie": f"{COOKIE}="}, {"X-Token": TOKEN},
        {"Authorization": "Bearer \xff"},
    ],
)  # fmt: skip
@pytest.mark.thinned(whole=4)
def test_nothing_is_shown_without_the_token(guarded: str, headers: dict[str, str]) -> None:
    for path in ("/", "/runs", "/runs.json", "/runs.csv", "/runs/1", "/openapi.json", "/nothing"):
        found = httpx.get(
            guarded + path,
            headers=[(name.encode(), value.encode("latin-1")) for name, value in headers.items()],
        )
        assert found.status_code == 401
        assert found.headers["www-authenticate"].startswith("Bearer")
        assert "nightly" not in found.text and TOKEN not in found.text


def test_the_header_opens_every_page(guarded: str) -> None:
    found = httpx.get(guarded + "/runs", headers={"Authorization": f"Bearer {TOKEN}"})
    assert found.status_code == 200 and "nightly" in found.text


def test_a_token_in_the_url_becomes_a_cookie_and_leaves_the_url(guarded: str) -> None:
    with httpx.Client(base_url=guarded) as browser:
        found = browser.get(f"/runs?status=completed&token={TOKEN}&limit=2")
        assert found.status_code == 303
        assert found.headers["location"] == "/runs?status=completed&limit=2"
        cookie = found.headers["set-cookie"]
        assert "HttpOnly" in cookie and "SameSite=strict" in cookie and TOKEN not in cookie
        assert browser.get(found.headers["location"]).status_code == 200


def test_a_wrong_token_in_the_url_is_refused_though_the_cookie_is_right(guarded: str) -> None:
    with httpx.Client(base_url=guarded) as browser:
        browser.get(f"/runs?token={TOKEN}")
        for shown in ("wrong", f"{TOKEN}&token=wrong"):
            assert browser.get(f"/runs?token={shown}").status_code == 401


def test_the_redirect_leads_nowhere_else(guarded: str) -> None:
    for path in ("//evil.example/", "/%2f%2fevil.example", "/\\evil.example", "///evil.example"):
        answer = raw(
            guarded,
            f"GET {path}?token={TOKEN} HTTP/1.1\r\nHost: localhost\r\n"
            "Connection: close\r\n\r\n".encode(),
        ).decode()
        location = [line for line in answer.split("\r\n") if line.lower().startswith("location:")]
        if location:
            where = location[0].partition(":")[2].strip()
            assert where.startswith("/") and not where.startswith(("//", "/\\")), where


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"host": "0.0.0.0", "token": None}, "without a token"),
        ({"host": "::", "token": None}, "without a token"),
        ({"host": "10.1.2.3", "token": TOKEN}, "the name that browsers use"),
        (
            {"host": "example.org", "token": None, "trusted_hosts": ("example.org",)},
            "without a token",
        ),
        ({"token": "short"}, "shorter than"),
        ({"token": "a token with spaces in it"}, "others than"),
        ({"trusted_hosts": ("http://example.org",)}, "no host name"),
        ({"trusted_hosts": ("",)}, "no host name"),
    ],
)
def test_what_would_be_unsafe_is_refused_before_it_listens(
    settings: dict[str, object], said: str
) -> None:
    with pytest.raises(InvalidInput, match=said):
        ConsoleSettings(database_url="postgresql://x", **settings)  # type: ignore[arg-type]


def test_beyond_loopback_only_trusted_names_are_answered() -> None:
    settings = ConsoleSettings(
        database_url="postgresql://x", host="0.0.0.0", token=TOKEN, trusted_hosts=("A.example",)
    )
    assert settings.hosts == {"a.example"}


def test_beyond_loopback_another_host_gets_nothing_though_it_shows_the_token() -> None:
    settings = ConsoleSettings(
        database_url="postgresql://x@127.0.0.1:1/none", host="0.0.0.0", token=TOKEN,
        trusted_hosts=("audit.example.org",),
    )  # fmt: skip
    app = Guard(
        Guard(_welcome, refuse_without_token(TOKEN, secure=not settings.is_loopback)),
        refuse_other_hosts(settings.hosts),
    )
    assert _asked(app, "audit.example.org", Authorization=f"Bearer {TOKEN}").status_code == 200
    for host in ("evil.example", "audit.example.org.evil.example", "127.0.0.1", "localhost", ""):
        for headers in (
            {"Authorization": f"Bearer {TOKEN}"}, {"Cookie": f"{COOKIE}={cookie_value(TOKEN)}"},
        ):  # fmt: skip
            assert _asked(app, host, **headers).status_code == 421


def test_the_cookie_goes_to_this_host_alone_and_from_its_own_pages_alone(guarded: str) -> None:
    beyond = Guard(_welcome, refuse_without_token(TOKEN, secure=True))
    told = _asked(beyond, "audit.example.org", f"/runs?token={TOKEN}").headers["set-cookie"]
    parts = {part.strip().lower() for part in told.split(";")[1:]}
    assert parts == {"httponly", "secure", "samesite=strict", "path=/"}  # no domain: host-only
    with httpx.Client(base_url=guarded) as browser:
        browser.get(f"/runs?token={TOKEN}")
        own = browser.build_request("GET", "/runs")
        other = browser.build_request("GET", "http://evil.example/runs")
        below = browser.build_request("GET", "http://sub.127.0.0.1.example/runs")
        assert COOKIE in own.headers["cookie"]
        assert "cookie" not in other.headers and "cookie" not in below.headers


async def _welcome(scope: Scope, receive: Receive, send: Send) -> None:
    await Response("welcome")(scope, receive, send)


def _asked(app: ASGIApp, host: str, path: str = "/runs", **headers: str) -> httpx.Response:
    async def asked() -> httpx.Response:
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://x") as client:
            return await client.get(path, headers={"Host": host, **headers})

    return asyncio.run(asked())
