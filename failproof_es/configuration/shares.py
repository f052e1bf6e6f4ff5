"""Shares in a configuration: a number from 0 to 1, or the same as a percentage, `95%`."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

PER_CENT = r"\d{1,9}(\.\d{1,9})? ?%"
"""A percentage as text."""


def share_of(value: Any) -> Any:
    """The share that a percentage means, 0.95 for `95%`; any other value unchanged."""
    if isinstance(value, str) and re.fullmatch(PER_CENT, text := value.strip(), re.ASCII):
        return float(Decimal(text.rstrip(" %")).scaleb(-2))
    return value


Share = Annotated[
    float,
    BeforeValidator(
        share_of,
        json_schema_input_type=Annotated[float, Field(ge=0.0, le=1.0)]
        | Annotated[str, Field(pattern=f"^{PER_CENT}$")],
    ),
    Field(ge=0.0, le=1.0),
]
"""A number from 0 to 1; a percentage is converted."""
