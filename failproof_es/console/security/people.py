"""Guard of a console for people: a page needs a login; a form also its origin and its token."""

from __future__ import annotations

import logging
import sqlite3
from http import HTTPStatus
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from failproof_es.console.errors import is_data, response_to
from failproof_es.console.links import to
from failproof_es.console.person import (
    FORM_TOKEN,
    InvalidForm,
    Person,
    form_of,
    set_form,
    set_person,
)
from failproof_es.console.security.cookies import LOGIN, cookie_of, needs_secure_cookies
from failproof_es.console.security.identities import Identities, Identity
from failproof_es.console.security.posts import Refused, check_origin, read_form
from failproof_es.console.security.token import HEALTH, METRICS, WITHOUT, has_bearer
from failproof_es.console.settings import ConsoleSettings
from failproof_es.problems import InvalidInput

LOGIN_PATH = "/login"
LOGOUT_PATH = "/logout"
WRITING_PATHS = (LOGIN_PATH, LOGOUT_PATH)
"""The paths that accept POST."""
_log = logging.getLogger("failproof_es.console")


class PeopleGuard:
    """Passes a request on if its person is logged in, and a form if a page of ours sent it.

    Static files, `/healthz` and the login need no person; `/metrics` accepts the console's token.
    """

    def __init__(self, app: ASGIApp, identities: Identities, settings: ConsoleSettings) -> None:
        self._app = app
        self._identities = identities
        self._settings = settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Close the identities with the server."""
        if scope["type"] == "lifespan":
            try:
                await self._app(scope, receive, send)
            finally:
                self._identities.close()
            return
        request = Request(scope, receive)
        response = await self._refusal(request)
        if response is not None and request.method == "POST":
            response.headers["Connection"] = "close"  # its body was not read
        await (response or self._app)(scope, receive, send)

    async def _refusal(self, request: Request) -> Response | None:
        """The response of a request that is not passed on."""
        try:
            if request.method == "POST":
                await self._check_post(request)
                return None
            return await self._check_reading(request)
        except Refused as refused:
            return refused.response(request)
        except InvalidForm as error:
            return response_to(request, error)
        except (InvalidInput, sqlite3.Error) as error:
            _log.error("nobody can log in: %s", error)
            return Refused(
                HTTPStatus.SERVICE_UNAVAILABLE,
                "login-unavailable",
                "the console cannot read who may log in",
                "the output of the process that serves the console shows the reason",
            ).response(request)

    async def _check_reading(self, request: Request) -> Response | None:
        path = request.url.path
        if path.startswith(WITHOUT) or path == HEALTH:
            return None
        if path == METRICS:  # of all projects: for monitoring alone
            if has_bearer(request, self._settings.token):
                return None
            raise Refused(
                HTTPStatus.UNAUTHORIZED,
                "token-required",
                "the metrics are of all projects: they are shown for the console's token alone",
                "send it as `Authorization: Bearer TOKEN`",
                {"WWW-Authenticate": "Bearer"},
            )
        identity = await self._identify(request)
        if identity is not None or (path == LOGIN_PATH and self._identities.has_accounts):
            return None
        if is_data(request):
            raise login_required()
        query = request.scope["query_string"].decode("latin-1")
        target = quote(path) + (f"?{query}" if query else "")
        return RedirectResponse(to("login", next=None if target == "/" else target), 303)

    async def _check_post(self, request: Request) -> None:
        secure = needs_secure_cookies(self._settings, request)
        check_origin(request, encrypted=secure)
        if request.url.path == LOGIN_PATH and self._identities.has_accounts:
            nonce = cookie_of(request, LOGIN, secure=secure)
            binding = None if nonce is None else login_binding(nonce)
        else:
            identity = await self._identify(request)
            if identity is None:
                raise login_required()
            binding = identity.binding
        set_form(request, await read_form(request))
        token = form_of(request).value(FORM_TOKEN)
        if binding is None or not self._identities.form_tokens.accepts(token, binding):
            raise Refused(
                HTTPStatus.FORBIDDEN,
                "form-outdated",
                "the form is not one of yours, or it is outdated",
                "go back, load its page again, and send it from there",
            )

    async def _identify(self, request: Request) -> Identity | None:
        """Who sends the request, whom pages then name."""
        secure = needs_secure_cookies(self._settings, request)
        identity = await self._identities.identify(request, secure=secure)
        if identity is not None:
            token = self._identities.form_tokens.issue(identity.binding)
            set_person(request, Person(identity.name, token, self._identities.has_accounts))
        return identity


def login_binding(nonce: str) -> str:
    """What the token of a login's form is bound to: a cookie of the browser that shows it."""
    return f"login {nonce}"


def login_required() -> Refused:
    """The refusal of a request without a person."""
    return Refused(
        HTTPStatus.UNAUTHORIZED,
        "login-required",
        "nobody is logged in",
        "log in at /login",
        {"WWW-Authenticate": 'Cookie realm="failproof-es console"'},
    )
