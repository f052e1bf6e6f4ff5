"""The address of a collector, checked before anything is sent; its time limits and answers."""

from __future__ import annotations

from enum import Enum
from urllib.parse import urlsplit

from failproof_es.problems import InvalidInput, Problem

LEFT_S = 4.0
"""Seconds that an unresponsive collector is retried after the run, and time-out of a request."""
LEAVE_S = 15.0
"""Maximum seconds after a run for sending its telemetry."""
SILENT_S = 2.0
"""Seconds without any answer after which a collector gets no more time at the end of the run."""


class Delivery(Enum):
    """The outcome of sending telemetry."""

    TAKEN = "taken"
    AGAIN = "again"
    """The collector did not take it for now: the same can be sent again."""
    SILENT = "silent"
    """No answer: the collector may not have received it. The same can be sent again."""
    REFUSED = "refused"
    """The collector never accepts it as it is; it may accept a smaller part."""


def require_endpoint(endpoint: str, field: str) -> None:
    """Raise `InvalidInput` unless `endpoint` is an http(s) address without user or query.

    `field` is the option or field that holds it, for the message.
    """
    try:
        where = urlsplit(endpoint)
        usable = where.scheme in ("http", "https") and bool(where.hostname) and where.port != 0
    except ValueError:
        usable = False
    if any(mark in endpoint for mark in "@?#"):  # a message must not repeat a secret
        message = "the address of the collector holds a user, a password or a query"
        remedy = "send them as a header: OTEL_EXPORTER_OTLP_HEADERS, in the environment"
        raise InvalidInput([Problem("key-exposed", message, field=field, remedy=remedy)])
    if not usable:
        message = f"{endpoint!r} is no address of a collector"
        raise InvalidInput(
            [
                Problem(
                    "invalid-url", message, field=field, remedy="for example http://localhost:4318"
                )
            ]
        )
