"""Guards: they can refuse a request before its page is looked up."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from http import HTTPStatus

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from failproof_es.console.errors import error_page, error_response

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
