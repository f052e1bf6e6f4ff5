"""Parses amounts of money that a person wrote: decimal numbers of US dollars."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation

import click

_MOST_PLACES = 50
"""Maximum digits before the decimal point, and after it."""


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
