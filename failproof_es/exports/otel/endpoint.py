"""The address of a collector, checked before anything is sent; how long it may take; its answer."""

from __future__ import annotations

from enum import Enum
from urllib.parse import urlsplit

from failproof_es.problems import InvalidInput, Problem

LEFT_S = 4.0
"""How long a collector that takes nothing is tried after the run; how long a request may take."""
LEAVE_S = 15.0
"""How long after a run its telemetry is sent at most."""


class Delivery(Enum):
    """What became of telemetry that was sent."""

    TAKEN = "taken"
    AGAIN = "again"
    """It did not come, or may not have: the same can be sent again."""
    REFUSED = "refused"
    """The collector takes it at no time, as it was sent: less of it may be taken."""


def require_endpoint(endpoint: str, field: str) -> None:
    """Raise `InvalidInput` unless this is the address of a collector."""
    try:
        where = urlsplit(endpoint)
        usable = where.scheme in ("http", "https") and bool(where.hostname) and where.port != 0
    except ValueError:
        usable = False
    if any(mark in endpoint for mark in "@?#"):  # what may be secret is not repeated
        message = "the address of the collector holds a user, a password or a query"
        remedy = "send them as a header: OTEL_EXPORTER_OTLP_HEADERS, in the environment"
        raise InvalidInput([Problem(message, field=field, remedy=remedy)])
    if not usable:
        message = f"{endpoint!r} is no address of a collector"
        raise InvalidInput(
            [Problem(message, field=field, remedy="for example http://localhost:4318")]
        )
