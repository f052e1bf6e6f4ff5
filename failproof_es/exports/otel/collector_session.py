"""An HTTP session for OpenTelemetry's exporters that evaluates a collector's answers.

The exporters ignore the body of a success, and newer ones take a redirection for one. Here a
redirection is an error and is not followed, so that no header, which may hold a key, goes
elsewhere; and records that a collector reports as rejected are counted (`partial_success` of OTLP).
Only the beginning of an answer's body is read.
"""

from __future__ import annotations

from io import BytesIO
from typing import Any

import requests
from google.protobuf.json_format import Parse, ParseError
from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from failproof_es.support.untrusted_text import one_line, shortened

_MOST_BYTES = 65_536
_LONGEST = 200


class CollectorSession(requests.Session):
    """An HTTP session that keeps the status and the trouble of its last request."""

    def __init__(self) -> None:
        super().__init__()
        self.headers["Accept-Encoding"] = "identity"
        self.status: int | None = None
        """HTTP status of the answer; `None` without an answer."""
        self.why = ""
        """One line: why the request failed, or the collector's message on rejected records."""
        self.rejected = 0
        """Number of records that the collector reported as rejected in a successful answer."""

    def request(self, method: Any, url: Any, **more: Any) -> requests.Response:  # type: ignore[override]
        """Send a request without following redirections; return the answer.

        `more` is as for `requests.Session.request`. Raises `RequestException` without an answer,
        and for a redirection.
        """
        self.status, self.why, self.rejected = None, "", 0
        try:
            with super().request(
                method, url, **{**more, "allow_redirects": False, "stream": True}
            ) as came:
                answer = _bounded(came)
        except Exception as error:
            self.why = _line(_root_cause(error))
            raise
        self.status = answer.status_code
        if answer.ok and answer.status_code < 300:
            self._read_reply(str(url), answer)
            return answer
        self.why = f"HTTP {answer.status_code} {_line(answer.reason)}".rstrip()
        if answer.status_code < 400:
            self.why += ": it is at another address"
            raise requests.RequestException(self.why)
        return answer

    def _read_reply(self, url: str, answer: requests.Response) -> None:
        of_logs = url.endswith("/v1/logs")
        reply = ExportLogsServiceResponse() if of_logs else ExportTraceServiceResponse()
        try:
            if "json" in answer.headers.get("content-type", ""):
                Parse(answer.content, reply, ignore_unknown_fields=True)
            else:
                reply.ParseFromString(answer.content)
        except (DecodeError, ParseError, ValueError):
            return  # accepted, with an unreadable body
        partial = reply.partial_success
        rejected = partial.rejected_log_records if of_logs else partial.rejected_spans
        self.rejected = max(rejected, 0)
        self.why = _line(partial.error_message)


def _bounded(came: requests.Response) -> requests.Response:
    """The answer with only the first 64 KB of its body, or little more."""
    answer = requests.Response()
    answer.status_code, answer.reason = came.status_code, came.reason or ""
    answer.headers, answer.url = came.headers, came.url
    body = bytearray()
    for piece in came.iter_content(_MOST_BYTES):
        body += piece
        if len(body) >= _MOST_BYTES:
            break
    answer.raw = BytesIO(body)
    return answer


def _root_cause(error: BaseException) -> object:
    """The root cause of a failed request, to be shown as text.

    For errors other than of the connection only their type: their text may hold a header and so a
    key.
    """
    if not isinstance(error, requests.ConnectionError | requests.Timeout):
        return f"it cannot be sent ({type(error).__name__})"
    while (cause := error.__cause__ or error.__context__) is not None:
        error = cause  # outer messages name objects of libraries
    return error


def _line(text: object) -> str:
    return shortened(one_line(text), _LONGEST)
