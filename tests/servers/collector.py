"""A collector on loopback: takes OTLP over HTTP, and decodes the protobuf that it was sent."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)


@dataclass
class Collector:
    """What came, and how the next requests are answered."""

    spans: list[Any] = field(default_factory=list)
    events: list[Any] = field(default_factory=list)
    refusals: int = 0
    """So many requests are answered with `status` first, and what they brought is not kept."""
    status: int = 503
    location: str = ""
    """Where a redirection leads to."""
    rejects: int = 0
    """So many of each request it says that it rejected, though it answers with 200."""
    never: bytes = b""
    """A request whose body holds it is answered with 400."""
    headers: list[dict[str, str]] = field(default_factory=list)
    requests: int = 0
    url: str = ""

    def names(self) -> list[str]:
        """The spans' names, sorted."""
        return sorted(span.name for span in self.spans)


def attributes(item: Any) -> dict[str, Any]:
    """The attributes of a span or an event."""
    return {
        each.key: getattr(each.value, each.value.WhichOneof("value")) for each in item.attributes
    }


@contextmanager
def collector(**how: Any) -> Iterator[Collector]:
    """A collector that listens until it is left; `how` are fields of it."""
    kept = Collector(**how)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            kept.requests += 1
            kept.headers.append(dict(self.headers))
            if kept.refusals:
                kept.refusals -= 1
                self._answer(kept.status)
                return
            if kept.never and kept.never in body:
                self._answer(400)
                return
            if self.path == "/v1/traces":
                for each in ExportTraceServiceRequest.FromString(body).resource_spans:
                    for scope in each.scope_spans:
                        kept.spans.extend(scope.spans)
            else:
                for logs in ExportLogsServiceRequest.FromString(body).resource_logs:
                    for of_scope in logs.scope_logs:
                        kept.events.extend(of_scope.log_records)
            self._answer(200, self._partial() if kept.rejects else b"")

        def _partial(self) -> bytes:
            if self.path == "/v1/traces":
                told = ExportTraceServiceResponse()
                told.partial_success.rejected_spans = kept.rejects
                told.partial_success.error_message = "over the\x1b quota"
                return bytes(told.SerializeToString())
            return b""

        def _answer(self, status: int, body: bytes = b"") -> None:
            self.send_response(status)
            if kept.location:
                self.send_header("location", kept.location)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing is printed."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    kept.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield kept
    finally:
        server.shutdown()
        server.server_close()
