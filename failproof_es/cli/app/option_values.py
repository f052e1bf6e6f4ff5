"""Reads values of options that name something: `NAME=VALUE`, and environment variables."""

from __future__ import annotations

import re
from collections.abc import Sequence

from failproof_es.problems import Problems

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
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
            problems.error("invalid-option", f"{text!r} is not {form}", field=option)
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
