"""Records who looked at what, and when, in a file beside the log."""

from __future__ import annotations

import logging
import os
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from urllib.parse import urlencode

import orjson
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from failproof_es.console.person import name_of_person
from failproof_es.console.security.posts import Refused

_MODE = 0o600
_log = logging.getLogger("failproof_es.console")


class ReadsRecorder:
    """Passes a person's request on once a line about it is in the file.

    A line is a JSON object: `at` (UTC), `person`, `method`, `path` and `query`. Requests without a
    person, for static files or the login, leave none. If the line cannot be written, the request is
    refused.
    """

    def __init__(self, app: ASGIApp, file: Path) -> None:
        self._app = app
        self._file = file

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Record a request and handle it."""
        if scope["type"] == "http":
            request = Request(scope, receive)
            person = name_of_person(request)
            try:
                if person is not None:
                    await run_in_threadpool(self._append, request, person)
            except OSError as error:
                _log.error("reads cannot be recorded in %s: %s", self._file, error)
                refused = Refused(
                    HTTPStatus.SERVICE_UNAVAILABLE,
                    "reads-unrecorded",
                    "the console records who looks at what, and cannot write that record",
                    "the output of the process that serves the console shows the reason",
                )
                await refused.response(request)(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _append(self, request: Request, person: str) -> None:
        query = request.query_params.multi_items()  # a token has no use here, and stays a secret
        line = {
            "at": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.%fZ}",
            "person": person,
            "method": request.method,
            "path": request.url.path,
            "query": urlencode([pair for pair in query if pair[0] != "token"]),
        }
        content = orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
        descriptor = os.open(self._file, flags, _MODE)
        try:
            # One call, so that lines of several processes do not mix.
            if os.write(descriptor, content) != len(content):
                raise OSError("the line was written in part")
        finally:
            os.close(descriptor)
