"""`/login` and `/logout` of local accounts."""

from __future__ import annotations

from http import HTTPStatus
from secrets import token_urlsafe
from urllib.parse import parse_qsl, urlsplit

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from failproof_es.console.person import Form, form_of, person_of
from failproof_es.console.rendering import render
from failproof_es.console.security.cookies import (
    LOGIN,
    SESSION,
    cookie_of,
    delete_cookie,
    needs_secure_cookies,
    set_cookie,
)
from failproof_es.console.security.identities import Identities
from failproof_es.console.security.people import LOGIN_PATH, LOGOUT_PATH, login_binding
from failproof_es.console.settings import ConsoleSettings
from failproof_es.core.reviewers import reviewer_name

_FIRST = "/runs"
_LONGEST_NEXT = 2_000


def add_login(app: FastAPI, identities: Identities, settings: ConsoleSettings) -> None:
    """Register the routes. The guard checked the origin and the token of each form."""

    def login_page(request: Request, after: str, problem: str | None = None) -> Response:
        """The login's page, whose form is bound to a cookie of this browser."""
        secure = needs_secure_cookies(settings, request)
        nonce = cookie_of(request, LOGIN, secure=secure) or token_urlsafe(24)
        token = identities.form_tokens.issue(login_binding(nonce))
        status = HTTPStatus.OK if problem is None else HTTPStatus.FORBIDDEN
        page = render("login.html", problem=problem, after=after, token=token, is_bare=True)
        response = HTMLResponse(page, status)
        set_cookie(response, LOGIN, nonce, secure=secure)
        return response

    async def show_login(request: Request) -> Response:
        after = _page_after(Form(parse_qsl(request.url.query)).values("next"))
        if person_of(request) is not None:
            return RedirectResponse(after, 303)
        return login_page(request, after)

    async def log_in(request: Request) -> Response:
        form, secure = form_of(request), needs_secure_cookies(settings, request)
        after = _page_after(form.values("next"))
        address = request.client.host if request.client else ""
        ended = cookie_of(request, SESSION, secure=secure)
        value = await identities.log_in(
            _name(form.value("name")), form.value("password"), address, ended
        )
        if value is None:
            return login_page(request, after, "This name and this password do not belong together.")
        response = RedirectResponse(after, 303)
        set_cookie(response, SESSION, value, secure=secure)
        delete_cookie(response, LOGIN, secure=secure)
        return response

    async def log_out(request: Request) -> Response:
        secure = needs_secure_cookies(settings, request)
        if value := cookie_of(request, SESSION, secure=secure):
            await identities.log_out(value)
        response = RedirectResponse(LOGIN_PATH, 303)
        delete_cookie(response, SESSION, secure=secure)
        return response

    for path, handler, method in (
        (LOGIN_PATH, show_login, "GET"),
        (LOGIN_PATH, log_in, "POST"),
        (LOGOUT_PATH, log_out, "POST"),
    ):
        app.add_api_route(
            path, handler, methods=[method], include_in_schema=False, response_model=None
        )


def _name(text: str) -> str:
    """The name; empty, which no account has, for one that no reviewer can have."""
    try:
        return reviewer_name(text)
    except ValueError:
        return ""


def _page_after(values: tuple[str, ...]) -> str:
    """The page of this console that follows the login."""
    if len(values) != 1 or len(values[0]) > _LONGEST_NEXT:
        return _FIRST
    after = values[0]
    parts = urlsplit(after) if after.isascii() and after.isprintable() else None
    is_own = parts is not None and not parts.scheme and not parts.netloc
    if not is_own or not after.startswith("/") or after.startswith("//") or "\\" in after:
        return _FIRST
    return after
