"""GET and HEAD only: nothing here changes anything."""

from __future__ import annotations

from http import HTTPStatus

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from failproof_es.console.security.refusals import refusal

IS_HEAD = "failproof_es.console.head"
"""Key in the scope of a request that was sent with HEAD."""


def refuse_other_methods(request: Request) -> Response | None:
    """405 for every method but GET and HEAD."""
    if request.method in ("GET", "HEAD"):
        return None
    return refusal(
        request,
        HTTPStatus.METHOD_NOT_ALLOWED,
        "method-not-allowed",
        "the console only reads",
        "ask with GET. The command line changes things: `failproof-es --help`",
        Allow="GET, HEAD",
    )


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
