"""The token: in a header of each request, or once in a URL and then in a cookie."""

from __future__ import annotations

import hmac
from hashlib import sha256
from http import HTTPStatus
from urllib.parse import parse_qsl, quote, urlencode

from starlette.requests import Request
from starlette.responses import Response

from failproof_es.console.security.guards import Refusal, refusal

COOKIE = "failproof_es_console"
WITHOUT = "/static/"
"""Paths below this need no token: they are the same for everybody."""
HEALTH = "/healthz"
"""This path needs none either: probes have none, and it tells numbers of events alone."""
METRICS = "/metrics"
"""In a console for people, programs read this path with the token."""


def refuse_without_token(token: str | None, *, secure: bool, ticket: str | None = None) -> Refusal:
    """401 unless the request shows the token. `None` demands nothing.

    `?token=` is answered with a cookie and a redirect to the URL without it, which keeps the token
    out of histories and links. The cookie does not hold the token; with `secure` it is sent over
    TLS only. `ticket` works once in place of the token: a browser gets it as an argument, which
    every user of a machine can read.
    """
    tickets = [] if ticket is None else [ticket]

    def refuse(request: Request) -> Response | None:
        path = request.url.path
        if token is None or path.startswith(WITHOUT) or path == HEALTH:
            return None
        query = parse_qsl(request.scope["query_string"].decode("latin-1"), keep_blank_values=True)
        tokens = [value for name, value in query if name == "token"]
        if tokens:
            by_ticket = any(_equal_in_constant_time(tokens[0], issued) for issued in tickets)
            if len(tokens) == 1 and (_equal_in_constant_time(tokens[0], token) or by_ticket):
                if by_ticket:
                    tickets.clear()
                rest = [(name, value) for name, value in query if name != "token"]
                return _let_in(request, rest, token, secure=secure)
        elif _equal_in_constant_time(_bearer(request), token) or _equal_in_constant_time(
            request.cookies.get(COOKIE, ""), cookie_value(token)
        ):
            return None
        return refusal(
            request,
            HTTPStatus.UNAUTHORIZED,
            "token-required",
            "the console needs its token",
            "open the URL that it printed when it started, or send `Authorization: Bearer TOKEN`",
            WWW_Authenticate='Bearer realm="failproof-es console"',
        )

    return refuse


def cookie_value(token: str) -> str:
    """Value of the cookie, which does not reveal the token."""
    return hmac.new(token.encode(), b"failproof-es console cookie", sha256).hexdigest()


def has_bearer(request: Request, token: str | None) -> bool:
    """Whether the request has the token in its `Authorization` header. No token fits `None`."""
    return token is not None and _equal_in_constant_time(_bearer(request), token)


def _let_in(request: Request, rest: list[tuple[str, str]], token: str, *, secure: bool) -> Response:
    path = "/" + quote(request.url.path.lstrip("/"))  # `//host` would redirect to that host
    response = Response(
        status_code=HTTPStatus.SEE_OTHER,
        headers={"location": path + (f"?{urlencode(rest)}" if rest else "")},
    )
    response.set_cookie(
        COOKIE, cookie_value(token), httponly=True, samesite="strict", secure=secure, path="/"
    )
    return response


def _bearer(request: Request) -> str:
    headers = request.headers.getlist("authorization")
    scheme, _, value = headers[0].partition(" ") if len(headers) == 1 else ("", "", "")
    return value.strip() if scheme.lower() == "bearer" else ""


def _equal_in_constant_time(candidate: str, token: str) -> bool:
    return hmac.compare_digest(candidate.encode("utf-8", "replace"), token.encode())
