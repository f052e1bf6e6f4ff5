"""Times as texts."""

from __future__ import annotations

from datetime import UTC, datetime


def utc_text(moment: datetime) -> str:
    """A timestamp (with a time zone) in ISO 8601 in UTC, with `Z`."""
    return moment.astimezone(UTC).isoformat().removesuffix("+00:00") + "Z"
