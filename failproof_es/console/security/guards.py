"""Guards: they can refuse a request before its page is looked up. Method, length, and host.

GET and HEAD change nothing; `posts.py` checks a POST. Trusted hosts protect against DNS rebinding.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from http import HTTPStatus

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import compile_path
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from failproof_es.console.errors import error_page, error_response

IS_HEAD = "failproof_es.console.head"
"""Key in the scope of a request that was sent with HEAD."""
LONGEST_URL = 4_096
"""Most bytes of path and query together."""
_CONTROLS = frozenset(map(chr, (*range(0x20), 0x7F)))
Refusal = Callable[[Request], Response | None]


class Guard:
    """Passes a request on, unless `refuse` gives a response."""

    def __init__(self, app: ASGIApp, refuse: Refusal) -> None:
        self._app = app
        self._refuse = refuse

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Only HTTP is answered: there is no web socket."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        refused = self._refuse(Request(scope))
        next_app: Callable[[Scope, Receive, Send], Awaitable[None]] = refused or self._app
        await next_app(scope, receive, send)


def refusal(
    request: Request, status: HTTPStatus, code: str, message: str, remedy: str, **headers: str
) -> Response:
    """The error response, as a page or as JSON by the request's path."""
    response = error_response(request, error_page(status, code, message, remedy))
    for name, value in headers.items():
        response.headers[name.replace("_", "-")] = value
    return response


def refuse_other_methods(writing: Sequence[str] = ()) -> Refusal:
    """405 for every method but GET and HEAD, and POST on the paths that `writing` has."""
    patterns = [compile_path(path)[0] for path in writing]

    def refuse(request: Request) -> Response | None:
        if request.method in ("GET", "HEAD"):
            return None
        accepts_post = any(pattern.match(request.scope["path"]) for pattern in patterns)
        if accepts_post and request.method == "POST":
            return None
        return refusal(
            request,
            HTTPStatus.METHOD_NOT_ALLOWED,
            "method-not-allowed",
            "this page is only read" if writing else "the console only reads",
            "ask with GET. The command line changes things: `failproof-es --help`",
            Allow="GET, HEAD, POST" if accepts_post else "GET, HEAD",
        )

    return refuse


class HeadAsGet:
    """Answers HEAD like GET, without the body."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See the class."""
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self._app(scope, receive, send)
            return
        ended = False

        async def headers_only(message: Message) -> None:
            nonlocal ended
            if message["type"] == "http.response.start":
                await send(message)
            elif not ended:
                ended = True
                await send({"type": "http.response.body", "body": b"", "more_body": False})

        await self._app({**scope, "method": "GET", IS_HEAD: True}, receive, headers_only)


def refuse_odd_urls(request: Request) -> Response | None:
    """414 for a long URL, 400 for control characters, backslashes and `..` in its path."""
    raw: bytes = request.scope.get("raw_path") or b""
    if len(raw) + len(request.scope["query_string"]) > LONGEST_URL:
        return refusal(
            request,
            HTTPStatus.REQUEST_URI_TOO_LONG,
            "limit-exceeded",
            f"the URL is longer than {LONGEST_URL:,} bytes",
            "take parts of the filter away",
        )
    path: str = request.scope["path"]
    if _CONTROLS.intersection(path) or "\\" in path or ".." in path.split("/"):
        return refusal(
            request,
            HTTPStatus.BAD_REQUEST,
            "invalid-url",
            "the path holds a control character, a backslash or `..`",
            "follow a link, or begin at /runs",
        )
    return None


def refuse_other_hosts(trusted: Collection[str]) -> Refusal:
    """421 unless the request names one of these hosts (in lower case), once.

    In DNS rebinding, an attacker's name that resolves to 127.0.0.1 is not among them.
    """

    def refuse(request: Request) -> Response | None:
        hosts = request.headers.getlist("host")
        if len(hosts) == 1 and host_of(hosts[0]) in trusted:
            return None
        return refusal(
            request,
            HTTPStatus.MISDIRECTED_REQUEST,
            "untrusted-host",
            "the request names a host that this console does not trust",
            "open it as http://127.0.0.1:PORT, or start it with --trusted-host NAME",
        )

    return refuse


def host_of(header: str) -> str:
    """The host of a `Host` header, in lower case, without its port; empty for an invalid port."""
    host, colon, port = header.strip().lower().rpartition(":")
    if header.strip().endswith("]") or not colon:
        return header.strip().lower()
    return host if port.isascii() and port.isdigit() else ""
