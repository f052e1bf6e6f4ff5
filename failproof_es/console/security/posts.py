"""Checks of a request that writes: it comes from a page of this console, and its form is bounded.

Browsers send `Sec-Fetch-Site` and `Origin` with a form, and no page can change them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from http import HTTPStatus
from urllib.parse import parse_qsl, urlsplit

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from failproof_es.console.errors import error_page, error_response
from failproof_es.console.person import Form

LONGEST_FORM = 262_144
"""Most bytes of a form as it is sent: the longest notes of a label, twelve bytes a character."""
MOST_FIELDS = 500
FORM_S = 10.0
"""Seconds in which a form has to arrive."""
_FORM_TYPE = "application/x-www-form-urlencoded"


class Refused(Exception):
    """The request is refused, for a reason that its response states."""

    def __init__(
        self,
        status: HTTPStatus,
        code: str,
        message: str,
        remedy: str,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self._page = error_page(status, code, message, remedy)
        self._headers = headers or {}

    def response(self, request: Request) -> Response:
        """The error response, as a page or as JSON by the request's path."""
        response = error_response(request, self._page)
        response.headers.update(self._headers)
        return response


def check_origin(request: Request, *, encrypted: bool) -> None:
    """Raise `Refused` unless a page of this host sent the request.

    With `encrypted` its page has to be one over TLS.
    """
    sites = request.headers.getlist("sec-fetch-site")
    origins = request.headers.getlist("origin")
    [host] = request.headers.getlist("host")  # a guard refused all others
    sent_by_own_page = sites in ([], ["same-origin"]) and len(sites) + len(origins) > 0
    if not sent_by_own_page or any(not _is_own(origin, host, encrypted) for origin in origins):
        raise Refused(
            HTTPStatus.FORBIDDEN,
            "foreign-request",
            "the request does not come from a page of this console",
            "open the page of this console and send its form",
        )


async def read_form(request: Request) -> Form:
    """The form in the request's body. Raises `Refused` if it is too large, too slow, or no form."""
    types = request.headers.getlist("content-type")
    if [kind.partition(";")[0].strip().lower() for kind in types] != [_FORM_TYPE]:
        raise _invalid(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"its type is not {_FORM_TYPE}")
    try:
        async with asyncio.timeout(FORM_S):
            body = await _read_body(request)
    except TimeoutError:
        raise _invalid(
            HTTPStatus.REQUEST_TIMEOUT, f"it did not arrive in {FORM_S:.0f} seconds"
        ) from None
    except ClientDisconnect:
        raise _invalid(HTTPStatus.BAD_REQUEST, "the connection was closed") from None
    try:
        fields = parse_qsl(
            body.decode("ascii"),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=MOST_FIELDS,
        )
    except ValueError:
        raise _invalid(HTTPStatus.BAD_REQUEST, "its fields cannot be read") from None
    return Form(fields)


async def _read_body(request: Request) -> bytes:
    declared = request.headers.get("content-length", "")
    if declared.isascii() and declared.isdigit() and int(declared) > LONGEST_FORM:
        raise _too_large()
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > LONGEST_FORM:
            raise _too_large()
    return bytes(body)


def _is_own(origin: str, host: str, encrypted: bool) -> bool:
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    schemes = ("https",) if encrypted else ("http", "https")
    return parts.scheme in schemes and f"{parts.scheme}://{host.strip().lower()}" == origin


def _too_large() -> Refused:
    return Refused(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        "limit-exceeded",
        f"the form is larger than {LONGEST_FORM:,} bytes",
        "write less",
        {"Connection": "close"},
    )


def _invalid(status: HTTPStatus, reason: str) -> Refused:
    return Refused(
        status,
        "invalid-form",
        f"the form cannot be used: {reason}",
        "send the form of a page of this console",
        {"Connection": "close"},
    )
