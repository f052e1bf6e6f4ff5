"""Parses times that a person wrote: ISO 8601, in UTC unless they have a time zone."""

from __future__ import annotations

from datetime import UTC, datetime

import click


def moment_argument(text: str) -> datetime:
    """Parse an option's value as a time. Raises `BadParameter` if it is none."""
    moment = parse_moment(text)
    if moment is None:
        raise click.BadParameter(
            f"{text!r} is not a time: write it as 2026-01-31 or 2026-01-31T12:30:00Z"
        )
    return moment


def parse_moment(text: str) -> datetime | None:
    """The time in the text, with its time zone, by default UTC; `None` if it is not a time."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
