"""Points in time as a person writes them: ISO 8601, UTC unless it says otherwise."""

from __future__ import annotations

from datetime import UTC, datetime

import click


def moment_argument(text: str) -> datetime:
    """The type of an option that takes a time."""
    moment = parse_moment(text)
    if moment is None:
        raise click.BadParameter(
            f"{text!r} is not a time: write it as 2026-01-31 or 2026-01-31T12:30:00Z"
        )
    return moment


def parse_moment(text: str) -> datetime | None:
    """The moment that the text names, with its time zone; `None` when it names none."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
