"""Reads values of options: `NAME=VALUE`, names of variables, times and amounts of money."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal, InvalidOperation

import click

from failproof_es.problems import Problems, shown_value
from failproof_es.support.timestamps import parse_moment

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MOST_PLACES = 50
"""Maximum digits of an amount before the decimal point, and after it."""
NOT_THE_KEY = "name the variable that holds the key, never the key itself"


def read_assignments(
    option: str, form: str, texts: Sequence[str], problems: Problems
) -> dict[str, str]:
    """The values of a repeated option by the names that they are given to, as in `NAME=VALUE`.

    `option` and `form` are for the problems, such as a missing value or a name that is given twice.
    """
    values: dict[str, str] = {}
    for text in texts:
        name, _, value = text.partition("=")
        if not name or not value:
            message = f"{shown_value(text)} is not {form}"
            problems.error("invalid-option", message, field=option)
        elif name in values:
            problems.error("duplicate-option", f"{name!r} is given twice", field=option)
        values[name] = value
    return values


def is_variable(name: str) -> bool:
    """Whether an environment variable can have this name."""
    return _VARIABLE.fullmatch(name) is not None


def check_key_variable(name: str | None, problems: Problems) -> None:
    """Record a problem if a value of `--api-key-env` cannot be the name of a variable."""
    if name is not None and not is_variable(name):
        message = "is no name of a variable"
        problems.error("invalid-option", message, field="--api-key-env", remedy=NOT_THE_KEY)


def moment_argument(text: str) -> datetime:
    """Parse an option's value as a time. Raises `BadParameter` if it is none."""
    moment = parse_moment(text)
    if moment is None:
        raise click.BadParameter(
            f"{text!r} is not a time: write it as 2026-01-31 or 2026-01-31T12:30:00Z"
        )
    return moment


def usd_argument(text: str) -> Decimal:
    """Parse an option's value as an exact amount of US dollars above 0.

    Raises `BadParameter` for any other text, and for more than 50 digits.
    """
    try:
        amount = Decimal(text)
    except InvalidOperation:
        amount = Decimal("NaN")
    if not amount.is_finite() or amount <= 0:
        raise click.BadParameter(f"{text!r} is no amount of US dollars above 0: write it as 12.50")
    _, _, exponent = amount.as_tuple()
    if amount.adjusted() >= _MOST_PLACES or int(exponent) < -_MOST_PLACES:
        raise click.BadParameter(
            f"{text!r} has more than {_MOST_PLACES} digits before its point or after it"
        )
    return amount
