"""Times as texts."""

from __future__ import annotations

from datetime import UTC, datetime


def parse_moment(text: str) -> datetime | None:
    """The time (ISO 8601) in the text, with its time zone, by default UTC; `None` if it is none."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def utc_text(moment: datetime) -> str:
    """A timestamp (with a time zone) in ISO 8601 in UTC, with `Z`."""
    return moment.astimezone(UTC).isoformat().removesuffix("+00:00") + "Z"
