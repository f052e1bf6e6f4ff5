"""`--as-of`: the state of a run at a position of the log, or at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from failproof_es.problems import InvalidInput
from failproof_es.store.reading.reader import Connection, max_position, position_at
from failproof_es.support.timestamps import parse_moment

F = TypeVar("F", bound=Callable[..., Any])


def as_of_option(help_text: str) -> Callable[[F], F]:
    """A decorator that gives a command `--as-of`.

    The command receives `as_of: str | None`, for `position_of`.
    """
    return click.option("--as-of", metavar="POSITION|TIME", help=help_text)


def position_of(connection: Connection, as_of: str) -> int:
    """The log's position that `--as-of` names, at most the last one.

    A time names the last position recorded by then. Raises `InvalidInput` if `as_of` is neither a
    position nor a time.
    """
    if as_of.isascii() and as_of.isdigit():
        return min(int(as_of), max_position(connection))
    moment = parse_moment(as_of)
    if moment is None:
        raise InvalidInput.because(
            "invalid-option",
            f"--as-of {as_of!r} is neither a position nor a time",
            remedy="write a number, or a time such as 2026-01-31T12:30:00Z",
        )
    return position_at(connection, moment)
