"""The cookies of people: for this host alone, out of reach of scripts and of other sites."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from failproof_es.console.security.guards import host_of
from failproof_es.console.settings import LOOPBACK_NAMES, ConsoleSettings

SESSION = "failproof_es_session"
LOGIN = "failproof_es_login"
"""Binds the form of the login to the browser that it was shown to."""


def needs_secure_cookies(settings: ConsoleSettings, request: Request) -> bool:
    """Whether the request's cookies go over TLS only: not if the browser is on this machine."""
    host = host_of(request.headers.get("host", ""))
    return not settings.is_loopback or host not in LOOPBACK_NAMES


def cookie_name(name: str, *, secure: bool) -> str:
    """The cookie's name. The prefix lets browsers refuse it from another host, or without TLS."""
    return f"__Host-{name}" if secure else name


def cookie_of(request: Request, name: str, *, secure: bool) -> str | None:
    """The cookie's value; `None` without it, or where it is sent twice."""
    prefixed_name = cookie_name(name, secure=secure)
    pairs = [
        pair.strip().partition("=")
        for header in request.headers.getlist("cookie")
        for pair in header.split(";")
    ]
    values = [value for key, _, value in pairs if key.strip() == prefixed_name]
    return values[0] if len(values) == 1 and values[0] else None


def set_cookie(response: Response, name: str, value: str, *, secure: bool) -> None:
    """Set a cookie that ends with the browser at the latest."""
    response.set_cookie(
        cookie_name(name, secure=secure),
        value,
        httponly=True,
        samesite="strict",
        secure=secure,
        path="/",
    )


def delete_cookie(response: Response, name: str, *, secure: bool) -> None:
    """Delete the cookie in the browser."""
    response.delete_cookie(
        cookie_name(name, secure=secure),
        httponly=True,
        samesite="strict",
        secure=secure,
        path="/",
    )
