"""Refuses URLs that are too long, or hold characters that no link here holds."""

from __future__ import annotations

from http import HTTPStatus

from starlette.requests import Request
from starlette.responses import Response

from failproof_es.console.security.refusals import refusal

LONGEST_URL = 4_096
"""Most bytes of path and query together."""
_CONTROLS = frozenset(map(chr, (*range(0x20), 0x7F)))


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
