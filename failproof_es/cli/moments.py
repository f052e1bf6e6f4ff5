"""Points in time as a person writes them."""

from __future__ import annotations

from datetime import UTC, datetime

import click


class Moment(click.ParamType):
    """An ISO 8601 date or time; UTC unless it says otherwise."""

    name = "time"

    def convert(
        self,
        value: str | datetime,
        param: click.Parameter | None,
        context: click.Context | None,
    ) -> datetime:
        """The moment, with its time zone."""
        if isinstance(value, datetime):
            return value
        moment = parse_moment(value)
        if moment is None:
            self.fail(
                f"{value!r} is not a time: write it as 2026-01-31 or 2026-01-31T12:30:00Z",
                param,
                context,
            )
        return moment


def parse_moment(text: str) -> datetime | None:
    """The moment that an ISO 8601 text names, in UTC unless it says otherwise."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
